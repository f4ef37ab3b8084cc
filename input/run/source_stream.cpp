#include "millrace/input/run/source_stream.h"

#include <algorithm>
#include <utility>

#include "millrace/core/text.h"
#include "millrace/input/rows/empty_passes.h"
#include "millrace/input/run/chunk_cursor.h"
#include "millrace/input/run/row_ids.h"
#include "millrace/input/run/run_length.h"

namespace millrace {

namespace {

std::vector<ChainLink> with_producer(RowSource& source, const std::string& name, const Port& port,
                                     std::vector<ChainLink> links) {
  const Transform* const producer = attributed(source, [&] { return &source.producer(); });
  Transform* const reporter = attributed(source, [&] { return source.reporter(); });
  links.insert(
      links.begin(),
      {.transform = producer, .name = name, .output = port, .reporter = reporter, .place = source.origin().place});
  links.front().ask();
  return links;
}

std::optional<double> run_size(const RowSource& source) {
  return attributed(source, [&]() -> std::optional<double> {
    const std::optional<uint64_t> size = source.endless() ? std::nullopt : source.pass_size();
    if (!size) return {};
    return static_cast<double>(*size) * source.passes();
  });
}

}  // namespace

SourceStream::SourceStream(RowSource& source, uint32_t source_index, std::string name, const Port& source_port,
                           std::vector<ChainLink> links)
    : source_(source),
      file_source_(dynamic_cast<const FileSource*>(&source)),
      source_index_(source_index),
      name_(std::move(name)),
      text_(source_port.type == PortType::text),
      run_size_(run_size(source)),
      chain_(PortType::none, with_producer(source, name_, source_port, std::move(links))) {}

void SourceStream::start(Executor* executor, const StreamEvents* events, Trace* trace,
                         std::unique_ptr<UnitDecoder> decoder) {
  log_.set_events(events);
  chain_.set_trace(trace);
  decoder_ = std::move(decoder);
  attributed(source_, [&] { start_tasks(executor, decoder_.get()); });
}

RowSpan SourceStream::pull(int64_t at_most) {
  if (failure_) raise_copy(failure_);
  if (ended_) return {};
  try {
    const RowSpan span = next_rows(at_most);
    if (!span && !cancelled()) {
      ended_ = true;
      // The notes after the last row have taken effect, and a restored stream does not meet them again.
      settled_bytes_ = bytes_;
      log_.mark();
    }
    return span;
  } catch (...) {
    failure_ = std::current_exception();
    throw;
  }
}

bool SourceStream::ready() {
  if (failure_ || ended_) return true;
  try {
    return rows_ready();
  } catch (...) {
    failure_ = std::current_exception();
    return true;
  }
}

std::optional<double> SourceStream::share() const {
  if (ended_) return 1;
  if (!run_size_) return {};
  return *run_size_ > 0 ? std::min(static_cast<double>(passed_) / *run_size_, 1.0) : 0;
}

uint64_t SourceStream::passed_before(const FileEntry* file, uint64_t offset) const {
  return file_source_ == nullptr || file == nullptr ? offset : file_source_->passed(*file, offset);
}

void SourceStream::count_passed(const FileEntry* file, uint64_t offset, uint64_t& counted) {
  const uint64_t now = std::max(passed_before(file, offset), counted);
  passed_ += now - std::exchange(counted, now);
}

void SourceStream::enter_pass(uint32_t pass) {
  if (pass_ == pass) return;
  if (pass_ && !pass_has_rows_ && attributed(source_, &RowSource::endless)) throw_endless(name_);
  pass_ = pass;
  pass_has_rows_ = false;
}

void SourceStream::settle() {
  positioned_ = true;
  pass_has_rows_ = true;
  settled_bytes_ = bytes_;
  log_.mark();
}

void SourceStream::set_silent(bool silent) {
  log_.set_silent(silent);
  if (silent == silent_) return;
  if (silent) {
    silent_from_ = bytes_;
  } else {
    silent_bytes_ += bytes_ - silent_from_;
  }
  silent_ = silent;
}

void SourceStream::rewind(uint32_t run) {
  restart();
  attributed(source_, [&] { source_.rewind(run); });
  run_ = run;
  positioned_ = false;
  settled_bytes_ = bytes_;
  passed_ = 0;
  ended_ = false;
  pass_.reset();
  log_.mark();
}

void SourceStream::fetch(const RowId& id, RowBlock& block, int64_t row) {
  const Unit unit = attributed(source_, [&] { return source_.unit_of(id); });
  fetched_.reset(unit);
  if (const std::exception_ptr failure = chain_.apply(fetched_, fetch_memory_)) raise_copy(failure);
  NoteLog silent;
  ChunkCursor cursor(chain_, silent, [this](const RowId& which) { return place_of(which); });
  cursor.enter(fetched_, text_ ? unit.line : 0);
  const RowSpan span = cursor.next(1);
  if (fetched_.rows.size() != 1 || !(fetched_.rows.id(0) == id)) {
    throw DataError("the row is not what it was when the state was saved", place_of(id),
                    "a run goes on only with the data that it began with");
  }
  block.copy_row(*span.block, span.begin, row);
}

void SourceStream::save(State& state) const {
  state.set("run", run_);
  state.set("bytes", told_bytes(settled_bytes_));
  state.set("passed", passed_);
  state.set("ended", ended_ ? 1 : 0);
  save_length(state, run_length());
  if (positioned_) save_position(state);
  log_.save(state);
  source_.save(state.scope("source"));
}

bool SourceStream::reads_compressed() const {
  return file_source_ != nullptr && file_source_->compressed() != nullptr && file_source_->compressed()->found();
}

void SourceStream::save_places(State& state, const std::vector<const State*>& ops) const {
  std::vector<TextPlace> places;
  add_positions(places);
  for (const State* op : ops) {
    for_each_saved_id(*op, [&](const RowId& id) {
      if (id.source == source_index_) places.push_back({id.file, id.offset});
    });
  }
  file_source_->compressed()->save(state.scope("source"), places);
}

void SourceStream::restore(const State& state) {
  source_.check(state.scope("source"));
  if (file_source_ != nullptr && file_source_->compressed() != nullptr) {
    file_source_->compressed()->restore(state.scope("source"));
  }
  const auto run = state.count("run", UINT32_MAX);
  rewind(run);
  bytes_ = settled_bytes_ = state.count("bytes");
  silent_bytes_ = 0;
  passed_ = state.has("passed") ? state.count("passed") : 0;  // earlier versions did not save it
  ended_ = state.count("ended", 1) != 0;
  log_.restore(state, chain_.links());
  const bool positioned = state.has("position");
  const uint64_t now = run_length(), then = saved_length(state, now);
  if (then != now) {
    const uint64_t begun = positioned && !state.values("position").empty() ? state.values("position").front() + 1 : 0;
    check_length(name_, {.saved = then, .now = now, .run = run, .begun = ended_ ? then : begun});
  }
  positioned_ = positioned;
  pass_has_rows_ = positioned;
  if (ended_ && then != now) {
    // There are more epochs now, so the run goes on with the one after its old end. The last epoch was reported
    // already.
    ended_ = false;
    positioned_ = true;
    start_pass(static_cast<uint32_t>(then));
  } else if (positioned) {
    pass_ = restore_position(state);
  }
}

const std::vector<uint64_t>& SourceStream::position_of(const State& state, std::initializer_list<uint64_t> most) const {
  const size_t numbers = state.values("position").size();
  if (numbers == most.size()) return state.counts("position", most);
  throw DataError(cat("the saved position of ", name_, " has ", numbers, " numbers, not ", most.size()));
}

void SourceStream::cancel() noexcept {
  cancelled_.store(true, std::memory_order_release);
  for (ChunkScheduler* scheduler : schedulers_) scheduler->cancel();
}

std::vector<TaskMemory::Work> SourceStream::work() const {
  std::vector<TaskMemory::Work> sum(chain_.links().size());
  for (const ChunkScheduler* scheduler : schedulers_) {
    const std::vector<TaskMemory::Work> work = scheduler->work();
    for (size_t link = 0; link < sum.size(); ++link) sum[link] += work[link];
  }
  return sum;
}

uint64_t SourceStream::run_length() const {
  return attributed(source_, [&] { return source_.endless() ? uint64_t{0} : uint64_t{source_.passes()}; });
}

uint64_t SourceStream::total(uint64_t (ChunkScheduler::*number)() const) const {
  uint64_t sum = 0;
  for (const ChunkScheduler* scheduler : schedulers_) sum += (scheduler->*number)();
  return sum;
}

uint64_t SourceStream::blocked_nanoseconds() const {
  return schedulers_.empty() ? 0 : total(&ChunkScheduler::blocked_nanoseconds) / schedulers_.size();
}

RowsHeld SourceStream::held() const {
  RowsHeld sum;
  for (const ChunkScheduler* scheduler : schedulers_) {
    const RowsHeld held = scheduler->rows_held();
    sum.now += held.now;
    sum.mean += held.mean;
  }
  return sum;
}

int SourceStream::tasks(int threads) const {
  if (units_out_ > 0) return units_out_;
  return ahead_.threads == 0 ? threads : std::min(ahead_.threads, threads);
}

uint64_t SourceStream::scheduler_bound(const Ahead& ahead) const {
  const auto at_once = static_cast<uint64_t>(ahead.threads);
  const ChunkBound chunk = attributed(source_, &RowSource::chunk_bound);
  uint64_t row_bytes = 0, rows = chunk.rows;
  uint64_t work_bytes = chunk.text_bytes;
  uint64_t note_bytes = 0;
  for (const ChainLink& link : chain_.links()) {
    row_bytes = std::max<uint64_t>(row_bytes, link.output.rows.row_bytes() + sizeof(RowId));
    work_bytes += link.work_bound;
    note_bytes = std::max(note_bytes, link.note_bytes);
    if (const uint64_t least = link.least_record_bytes; least > 0 && chunk.range_bytes > 0) {
      rows = std::min(rows, chunk.range_bytes / least + 1);
    }
  }
  // Blocks grow by doubling.
  const uint64_t block_bytes = 2 * rows * row_bytes;
  const uint64_t chunk_bytes = block_bytes + chunk.records * note_bytes;
  return static_cast<uint64_t>(ahead.rows) * (2 * row_bytes + note_bytes) + (at_once + 2) * chunk_bytes +
         (at_once + 1) * (work_bytes + spare_blocks(chain_.links()) * block_bytes);
}

}  // namespace millrace
