#include "millrace/input/run/chunk_stream.h"

#include <algorithm>
#include <utility>

#include "millrace/input/sources/file_units.h"

namespace millrace {

ChunkStream::ChunkStream(RowSource& source, uint32_t source_index, std::string name, const Port& source_port,
                         std::vector<ChainLink> links)
    : SourceStream(source, source_index, std::move(name), source_port, std::move(links)),
      cursor_(chain_, log_, [this](const RowId& id) { return place_of(id); }),
      scheduler_(source_, chain_, text_) {
  add_scheduler(scheduler_);
}

void ChunkStream::start_tasks(Executor* executor, UnitDecoder* decoder) {
  scheduler_.start(executor, decoder == nullptr ? ahead_ : Ahead{.rows = ahead_.rows, .threads = units_out_}, decoder);
}

RowSpan ChunkStream::next_rows(int64_t at_most) {
  scheduler_.check();
  while (!cancelled()) {
    if (cursor_.inside()) {
      if (const RowSpan span = cursor_.next(at_most)) {
        pass(span);
        return span;
      }
      leave_chunk();
    }
    if (!enter_next_chunk()) break;
  }
  return {};
}

// Goes past chunks that give no row.
bool ChunkStream::rows_ready() {
  while (!cancelled()) {
    if (cursor_.inside()) {
      if (cursor_.has_next()) return true;
      leave_chunk();
    }
    if (scheduler_.waits_for_data()) return false;
    if (!enter_next_chunk()) break;
  }
  return true;
}

void ChunkStream::leave_chunk() {
  const Chunk& chunk = cursor_.chunk();
  if (text_) bytes_ = bytes_before_chunk_ + (chunk.end_record - chunk_begin_);
  count_passed(chunk.unit.file.get(), text_ ? chunk.end_record : chunk.unit.end, counted_);
  cursor_.leave();
}

bool ChunkStream::enter_next_chunk() {
  ChunkSlot* ready = scheduler_.next();
  if (ready == nullptr) return false;
  enter_pass(ready->chunk.unit.pass);
  chunk_begin_ = ready->begin;
  bytes_before_chunk_ = bytes_;
  file_ = ready->chunk.unit.file;
  if (resumed_) counted_ = passed_before(file_.get(), text_ ? position_.offset : ready->chunk.unit.begin);
  if (ready->chunk.unit.begin == 0) counted_ = 0;
  resumed_ = false;
  cursor_.enter(ready->chunk, text_ ? ready->line : 0);
  return true;
}

void ChunkStream::pass(const RowSpan& span) {
  const RowId& last = span.block->id(span.begin + span.count - 1);
  const Unit& unit = cursor_.chunk().unit;
  position_ = {unit.pass, unit.file_ordinal, last.offset + (unit.file ? last.length : 1), last.next_line};
  if (text_) bytes_ = bytes_before_chunk_ + (position_.offset - chunk_begin_);
  // The rows of an IndexSource may come in another order than that of their numbers.
  count_passed(unit.file.get(), text_ ? position_.offset : std::min(position_.offset, unit.end), counted_);
  settle();
}

void ChunkStream::restart() {
  scheduler_.restart();
  file_ = nullptr;
  cursor_.leave();
}

void ChunkStream::save_position(State& state) const {
  state.set("position", {position_.pass, position_.file_ordinal, position_.offset, position_.line});
}

void ChunkStream::add_positions(std::vector<TextPlace>& out) const {
  if (file_) out.push_back({file_->index, position_.offset});
}

uint32_t ChunkStream::restore_position(const State& state) {
  const std::vector<uint64_t>& saved = position_of(state, {UINT32_MAX, UINT32_MAX, UINT64_MAX, State::kMostCount});
  position_ = {static_cast<uint32_t>(saved[0]), static_cast<uint32_t>(saved[1]), saved[2], saved[3]};
  resumed_ = true;
  // A state that is saved before the first row has places to begin from, too.
  if (reads_compressed()) file_ = file_at(*file_source_, position_).file;
  source_.seek(position_);
  return position_.pass;
}

void ChunkStream::start_pass(uint32_t pass) {
  position_ = {.pass = pass};
  counted_ = 0;
  source_.seek(position_);
}

}  // namespace millrace
