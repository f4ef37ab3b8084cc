#include "millrace/input/graph/chunk_stream.h"

#include <algorithm>
#include <utility>

#include "millrace/core/text.h"

namespace millrace {

namespace {

std::vector<ChainLink> with_producer(RowSource& source, const std::string& name, const Port& port,
                                     std::vector<ChainLink> links) {
  links.insert(links.begin(), {.transform = &source.producer(), .name = name, .output = port});
  return links;
}

}  // namespace

ChunkStream::ChunkStream(RowSource& source, uint32_t source_index, std::string name, const Port& source_port,
                         std::vector<ChainLink> links)
    : source_(source),
      source_index_(source_index),
      name_(std::move(name)),
      text_(source_port.type == PortType::text),
      chain_(PortType::none, with_producer(source, name_, source_port, std::move(links))),
      cursor_(chain_, log_, [this](const RowId& id) { return source_.place(id); }),
      scheduler_(source_, chain_, text_) {}

void ChunkStream::start(Executor* executor, const StreamEvents* events) {
  log_.set_events(events);
  scheduler_.set_executor(executor);
}

void ChunkStream::set_ahead(int64_t rows, int threads) {
  const Ahead ahead = with_links({rows, threads}, chain_.links());
  ahead_rows_ = ahead.rows;
  threads_ = ahead.threads;
  scheduler_.set_ahead(ahead_rows_, threads_);
}

RowSpan ChunkStream::pull(int64_t at_most) {
  if (failure_) raise_copy(failure_);
  if (ended_) return {};
  scheduler_.check();
  try {
    while (!scheduler_.cancelled()) {
      if (cursor_.inside()) {
        const RowSpan span = cursor_.next(at_most);
        if (span) {
          settle(span);
          return span;
        }
        bytes_before_chunk_ += text_ ? cursor_.chunk().end_record - chunk_begin_ : 0;
        bytes_ = bytes_before_chunk_;
        cursor_.leave();
      }
      if (!enter_next_chunk()) break;
    }
    if (!scheduler_.cancelled()) end();
    return {};
  } catch (...) {
    failure_ = std::current_exception();
    throw;
  }
}

// What was told behind the last row holds, and is not met again.
void ChunkStream::end() {
  ended_ = true;
  position_bytes_ = bytes_;
  log_.mark();
}

bool ChunkStream::enter_next_chunk() {
  const ReadyChunk ready = scheduler_.next();
  if (!ready) return false;
  note_pass(ready.chunk->unit.pass);
  chunk_begin_ = ready.begin;
  cursor_.enter(*ready.chunk, text_ ? ready.line : 0);
  return true;
}

// An endless source whose pass gave no row would be read forever.
void ChunkStream::note_pass(uint32_t pass) {
  if (in_pass_ && pass == pass_) return;
  if (in_pass_ && !pass_has_rows_ && source_.endless()) {
    throw_endless(name_);
  }
  in_pass_ = true;
  pass_ = pass;
  pass_has_rows_ = false;
}

void ChunkStream::settle(const RowSpan& span) {
  const RowId& last = span.block->id(span.begin + span.count - 1);
  const Unit& unit = cursor_.chunk().unit;
  position_ = {unit.pass, unit.file_ordinal, last.offset + (unit.file ? last.length : 1), last.next_line};
  positioned_ = true;
  pass_has_rows_ = true;
  if (text_) bytes_ = bytes_before_chunk_ + (position_.offset - chunk_begin_);
  position_bytes_ = bytes_;
  log_.mark();
}

void ChunkStream::rewind(uint32_t run) {
  scheduler_.restart();
  cursor_.leave();
  source_.rewind(run);
  run_ = run;
  positioned_ = false;
  position_bytes_ = bytes_before_chunk_ = bytes_;
  ended_ = false;
  in_pass_ = false;
  log_.mark();
}

void ChunkStream::fetch(const RowId& id, RowBlock& block, int64_t row) {
  const Unit unit = source_.unit_of(id);
  fetched_.reset(unit);
  if (const std::exception_ptr failure = chain_.apply(fetched_, fetch_memory_)) raise_copy(failure);
  NoteLog silent;
  ChunkCursor cursor(chain_, silent, [this](const RowId& which) { return source_.place(which); });
  cursor.enter(fetched_, text_ ? unit.line : 0);
  const RowSpan span = cursor.next(1);
  if (fetched_.rows.size() != 1 || !(fetched_.rows.id(0) == id)) {
    throw DataError("the row is not what it was when the state was saved", source_.place(id),
                    "a run goes on only with the data that it began with");
  }
  block.copy_row(*span.block, span.begin, row);
}

void ChunkStream::save(State& state) const {
  state.set("run", run_);
  state.set("bytes", position_bytes_);
  state.set("ended", ended_ ? 1 : 0);
  if (positioned_) {
    state.set("position", {position_.pass, position_.file_ordinal, position_.offset, position_.line});
  }
  log_.save(state);
  source_.save(state.scope("source"));
}

void ChunkStream::restore(const State& state) {
  source_.check(state.scope("source"));
  rewind(static_cast<uint32_t>(state.value("run")));
  bytes_ = bytes_before_chunk_ = position_bytes_ = state.value("bytes");
  ended_ = state.value("ended") != 0;
  log_.restore(state, chain_.links());
  if (!state.has("position")) return;
  const std::vector<uint64_t>& saved = state.values("position");
  if (saved.size() != 4)
    throw DataError(cat("the saved position of ", name_, " has ", saved.size(), " numbers, not 4"));
  position_ = {static_cast<uint32_t>(saved[0]), static_cast<uint32_t>(saved[1]), saved[2], saved[3]};
  positioned_ = true;
  source_.seek(position_);
  in_pass_ = true;
  pass_ = position_.pass;
  pass_has_rows_ = true;
}

uint64_t ChunkStream::memory_bound(int threads) const {
  const auto tasks = static_cast<uint64_t>(threads_ == 0 ? threads : std::min(threads_, threads));
  const ChunkBound chunk = source_.chunk_bound();
  uint64_t row_bytes = 0;
  uint64_t work_bytes = chunk.text_bytes;
  uint64_t note_bytes = 0;
  for (const ChainLink& link : chain_.links()) {
    row_bytes = std::max<uint64_t>(row_bytes, link.output.rows.row_bytes() + sizeof(RowId));
    work_bytes += link.transform->work_bound();
    note_bytes = std::max(note_bytes, link.transform->note_bytes());
  }
  // Blocks grow by doubling; every task may hold a spare block besides its chunk.
  const uint64_t block_bytes = 2 * chunk.rows * row_bytes;
  const uint64_t chunk_bytes = block_bytes + chunk.records * note_bytes;
  return static_cast<uint64_t>(ahead_rows_) * (2 * row_bytes + note_bytes) + (tasks + 2) * chunk_bytes +
         (tasks + 1) * (work_bytes + block_bytes);
}

}  // namespace millrace
