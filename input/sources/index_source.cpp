#include "millrace/input/source.h"

#include <algorithm>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace {

IndexSource::IndexSource(std::string place, IndexRange range, std::unique_ptr<Transform> producer)
    : place_(std::move(place)), range_(range), producer_(std::move(producer)) {
  IndexSource::rewind(0);
}

Port IndexSource::bind(const BindArgs& args) {
  source_ = args.source_index;
  return producer_->bind(args);
}

bool IndexSource::next(Unit& out) {
  if (at_ >= range_.rows && !fresh_) {
    if (pass_ + 1 >= end_pass_) return false;
    ++pass_;
    at_ = 0;
    fresh_ = true;
  }
  out = unit(at_, std::min(range_.unit_rows, range_.rows - at_), static_cast<uint32_t>(pass_));
  at_ = out.end;
  fresh_ = false;
  return true;
}

std::optional<uint64_t> IndexSource::pass_size() const {
  return range_.rows == UINT64_MAX ? std::nullopt : std::optional(range_.rows);
}

void IndexSource::rewind(uint32_t run) {
  pass_ = uint64_t{run} * passes();
  end_pass_ = range_.passes ? pass_ + passes() : UINT64_MAX;
  at_ = 0;
  fresh_ = true;
}

void IndexSource::seek(const Position& position) {
  if (position.offset > range_.rows) throw no_row(position.offset);
  if (range_.passes) rewind(position.pass / passes());
  pass_ = position.pass;
  at_ = position.offset;
  fresh_ = false;
}

void IndexSource::check(const State& state) const {
  const auto text = [](uint64_t rows) {
    return rows == UINT64_MAX ? std::string("endless rows") : count_of(static_cast<int64_t>(rows), "row");
  };
  if (const uint64_t rows = state.value("rows"); rows != range_.rows) {
    throw DataError(cat("the saved state is of ", text(rows), ", now there ", range_.rows == 1 ? "is " : "are ",
                        text(range_.rows)));
  }
}

Unit IndexSource::unit_of(const RowId& id) const {
  if (id.offset >= range_.rows) throw no_row(id.offset);
  return unit(id.offset, 1, id.pass);
}

DataError IndexSource::no_row(uint64_t number) const {
  return DataError(cat("the saved state is at row ", number, " of ", place_, ", which does not exist"));
}

Unit IndexSource::unit(uint64_t begin, uint64_t count, uint32_t pass) const {
  return {.begin = begin, .end = begin + count, .source = source_, .pass = pass, .exact = true, .line = begin + 1};
}

}  // namespace millrace
