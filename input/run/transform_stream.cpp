#include "millrace/input/run/transform_stream.h"

#include <algorithm>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/run/row_ids.h"

namespace millrace {

namespace {

// How many rows are taken at once: enough to make a pass worth it, few enough to stay in a cache.
constexpr uint64_t kBytesAtOnce = 1 << 18;
constexpr uint64_t kRowsAtOnce = 1024;

}  // namespace

TransformStream::TransformStream(RowStream& input, Origin origin, RowSpec input_rows, std::vector<ChainLink> links,
                                 RowFacts facts)
    : input_(input),
      origin_(std::move(origin)),
      name_(links.empty() ? std::string() : links.front().name),
      input_rows_(std::make_shared<const RowSpec>(std::move(input_rows))),
      rows_at_once_(
          static_cast<int64_t>(std::clamp<uint64_t>(kBytesAtOnce / (input_rows_->row_bytes() + 1), 1, kRowsAtOnce))),
      chain_(PortType::rows, std::move(links)),
      facts_(std::move(facts)),
      passes_(attributed(origin_, [&] { return input.passes(); })),
      spread_(attributed(origin_, [&] { return input.spread(); })),
      empty_passes_(name(), facts_.endless, passes_, spread_),
      cursor_(chain_, log_, facts_.place) {}

RowSpan TransformStream::pull_input(int64_t at_most) {
  const RowSpan rows = attributed(origin_, [&] { return input_.pull(at_most); });
  if (rows.count > at_most) {
    throw InternalError(
        cat(origin_.who, ": pull() gave ", count_of(rows.count, "row"), ", but was asked for ", at_most, " at most"),
        origin_.place);
  }
  if (rows && rows.block == nullptr)
    throw InternalError(cat(origin_.who, ": pull() gave rows of no block"), origin_.place);
  return rows;
}

RowSpan TransformStream::pull(int64_t at_most) {
  if (name_.empty()) return pull_input(at_most);
  if (failure_) raise_copy(failure_);
  try {
    for (;;) {
      if (cursor_.inside()) {
        if (const RowSpan span = cursor_.next(at_most)) {
          empty_passes_.gave();
          chunk_gave_ = true;
          log_.mark();
          return span;
        }
        cursor_.leave();
        for (size_t row = 0; !chunk_gave_ && row < taken_.size(); ++row) empty_passes_.took(taken_[row]);
      }
      if (!take(at_most)) {
        log_.mark();
        return {};
      }
    }
  } catch (...) {
    failure_ = std::current_exception();
    throw;
  }
}

bool TransformStream::take(int64_t at_most) {
  const RowSpan span = pull_input(std::min(at_most, rows_at_once_));
  if (!span) return false;
  chunk_.reset({});
  chunk_.rows.configure(input_rows_, span.count);
  chunk_.rows.resize(span.count);
  taken_.clear();
  chunk_gave_ = false;
  for (int64_t row = 0; row < span.count; ++row) {
    chunk_.rows.copy_row(*span.block, span.begin + row, row);
    taken_.push_back(chunk_.rows.id(row));
  }
  transform();
  return true;
}

void TransformStream::transform() {
  if (const std::exception_ptr failure = chain_.apply(chunk_, memory_)) raise_copy(failure);
  cursor_.enter(chunk_, 0);
}

void TransformStream::set_ahead(int64_t rows, int threads) {
  const Ahead ahead = with_links({rows, threads}, chain_.links());
  attributed(origin_, [&] { input_.set_ahead(ahead.rows, ahead.threads); });
}

void TransformStream::rewind(uint32_t run) {
  attributed(origin_, [&] { input_.rewind(run); });
  empty_passes_.gave();
  cursor_.leave();
  log_.mark();
}

void TransformStream::fetch(const RowId& id, RowBlock& block, int64_t row) {
  const auto fetch_input = [&](RowBlock& to, int64_t at) { attributed(origin_, [&] { input_.fetch(id, to, at); }); };
  if (name_.empty()) return fetch_input(block, row);
  fetched_.reset({});
  fetched_.rows.configure(input_rows_, 1);
  fetched_.rows.resize(1);
  fetch_input(fetched_.rows, 0);
  if (const std::exception_ptr failure = chain_.apply(fetched_, memory_)) raise_copy(failure);
  NoteLog silent;
  ChunkCursor cursor(chain_, silent, facts_.place);
  cursor.enter(fetched_, 0);
  const RowSpan span = cursor.next(1);
  if (!span) {
    throw DataError("the row is not what it was when the state was saved", facts_.place(id),
                    "a run goes on only with the data that it began with");
  }
  block.copy_row(*span.block, span.begin, row);
}

void TransformStream::save(State& state) const {
  log_.save(state);
  const bool inside = cursor_.inside();
  save_ids(state, kTakenRows, inside ? std::span<const RowId>(taken_) : std::span<const RowId>());
  state.set("passed", inside ? static_cast<uint64_t>(cursor_.rows_passed()) : 0);
}

void TransformStream::restore(const State& state) {
  log_.restore(state, chain_.links());
  taken_ = load_ids(state, kTakenRows);
  if (taken_.empty()) {
    state.count("passed", 0);
    return;
  }
  const int64_t rows = std::ssize(taken_);
  if (rows > rows_at_once_) {
    throw DataError(cat("the saved state has ", count_of(rows, "row"), " where ", rows_at_once_, " are taken at most"));
  }
  chunk_.reset({});
  chunk_.rows.configure(input_rows_, rows);
  chunk_.rows.resize(rows);
  attributed(origin_, [&] {
    for (int64_t row = 0; row < rows; ++row) input_.fetch(taken_[static_cast<size_t>(row)], chunk_.rows, row);
  });
  transform();
  cursor_.skip(state.count("passed", chunk_.rows.size()));
  chunk_gave_ = cursor_.rows_passed() > 0;
}

uint64_t TransformStream::memory_bound() const {
  if (name_.empty()) return 0;
  uint64_t row_bytes = input_rows_->row_bytes();
  uint64_t work_bytes = 0;
  for (const ChainLink& link : chain_.links()) {
    row_bytes = std::max<uint64_t>(row_bytes, link.output.rows.row_bytes());
    work_bytes += link.work_bound;
  }
  const uint64_t blocks = 1 + spare_blocks(chain_.links());
  return blocks * static_cast<uint64_t>(rows_at_once_) * (row_bytes + sizeof(RowId)) + work_bytes;
}

}  // namespace millrace
