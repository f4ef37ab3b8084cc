#include "millrace/input/run/reader_stream.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "millrace/core/text.h"

namespace millrace {

namespace {

// How many numbers a saved position has for each place.
constexpr size_t kOfPlace = 4;

[[noreturn]] void throw_changed(const Place& place) {
  throw DataError("the file is not what it was when the state was saved", place,
                  "a run goes on only with the data that it began with");
}

}  // namespace

void ReaderStream::Reader::open(const Unit& next, const Position& given, uint64_t since) {
  stop();
  file = next;
  position = given;
  left_out = to_skip = since;
  units.start(file, position);
}

void ReaderStream::Reader::stop() {
  scheduler.restart();
  cursor.leave();
}

ReaderStream::Record ReaderStream::Reader::next_record() {
  for (; to_skip > 0; --to_skip) {
    const Record skipped = step(false);
    if (skipped == Record::none && scheduler.cancelled()) return skipped;
    if (skipped != Record::left_out) throw_changed({file.file->path, static_cast<int64_t>(position.line)});
  }
  return step(true);
}

ReaderStream::Record ReaderStream::Reader::step(bool effective) {
  for (;;) {
    if (cursor.inside()) {
      const Record record = cursor.next_record(effective);
      if (record != Record::none) return record;
      cursor.leave();
    }
    ChunkSlot* ready = scheduler.next();
    if (ready == nullptr) return Record::none;
    cursor.enter(ready->chunk, ready->line);
  }
}

ReaderStream::ReaderStream(FileSource& source, uint32_t source_index, std::string name, const Port& source_port,
                           std::vector<ChainLink> links)
    : SourceStream(source, source_index, std::move(name), source_port, std::move(links)),
      format_(source),
      names_(source.names()),
      most_places_(std::clamp<size_t>(attributed(names_, &NameSource::files).size(), 1,
                                      static_cast<size_t>(source.readers()))) {}

// Every reader may run at least one task and hold at least one waiting row, whatever the limits.
ReaderStream::Shares ReaderStream::shares(int threads) const {
  const auto tasks_at_once = static_cast<size_t>(std::max(tasks(threads), 1));
  Shares out;
  // More readers, for the files that the threads can begin ahead.
  out.readers = most_places_ + std::min(most_places_, tasks_at_once);
  out.each.threads = static_cast<int>(std::max<size_t>(tasks_at_once / most_places_, 1));
  out.each.rows = ahead_.rows == 0 ? 0 : std::max<int64_t>(ahead_.rows / static_cast<int64_t>(out.readers), 1);
  return out;
}

void ReaderStream::start_tasks(Executor* executor, UnitDecoder* decoder) {
  const Shares share = shares(executor == nullptr ? 1 : executor->threads());
  for (size_t i = 0; i < share.readers; ++i) {
    readers_.push_back(std::make_unique<Reader>(format_, chain_, log_));
    readers_.back()->scheduler.start(executor, share.each, decoder);
    add_scheduler(readers_.back()->scheduler);
    idle_.push_back(readers_.back().get());
  }
  places_.reserve(most_places_);
  upcoming_.reserve(share.readers);
}

RowSpan ReaderStream::next_rows(int64_t) {
  while (!cancelled()) {
    check_ahead();
    Reader* reader = reader_of_turn();
    if (reader == nullptr) break;
    switch (reader->next_record()) {
      case Record::none:
        if (!cancelled()) end_file();
        break;
      case Record::left_out:
        ++reader->left_out;
        ++turn_;
        break;
      case Record::row: ++turn_; return hand_out(*reader);
    }
  }
  return {};
}

// Throws failures of tasks that read ahead. Looks at one reader in each turn, so that the cost does not depend on their
// number.
void ReaderStream::check_ahead() {
  checked_ = checked_ + 1 < schedulers_.size() ? checked_ + 1 : 0;
  schedulers_[checked_]->check();
}

// The reader whose turn it is; nullptr at the end of the data.
ReaderStream::Reader* ReaderStream::reader_of_turn() {
  for (;;) {
    if (turn_ < places_.size()) return places_[turn_];
    if (places_.empty() && !begin_pass()) return nullptr;
    if (places_.size() < most_places_) {
      if (Reader* reader = take_next()) {
        places_.push_back(reader);
        return reader;
      }
    }
    turn_ = 0;
  }
}

// False at the end of the data.
bool ReaderStream::begin_pass() {
  read_ahead();
  if (upcoming_.empty()) {
    if (names_failure_) raise_copy(names_failure_);
    return false;
  }
  pass_ = upcoming_.front()->file.pass;
  names_taken_ = 0;
  enter_pass(pass_);
  return true;
}

// The reader of the pass's next name; nullptr if no name is left.
ReaderStream::Reader* ReaderStream::take_next() {
  read_ahead();
  if (upcoming_.empty() && names_failure_) raise_copy(names_failure_);
  if (upcoming_.empty() || upcoming_.front()->file.pass != pass_) return nullptr;
  Reader* reader = upcoming_.front();
  upcoming_.erase(upcoming_.begin());
  names_taken_ = reader->file.file_ordinal + 1;
  return reader;
}

void ReaderStream::read_ahead() {
  while (!idle_.empty() && !names_ended_) {
    Unit file;
    try {
      names_ended_ = !next_file(format_, file);
    } catch (...) {
      // The files before the failure are read first.
      names_failure_ = as_error(std::current_exception(), name_, source_.origin().place);
      names_ended_ = true;
    }
    if (names_ended_) return;
    upcoming_.push_back(open_idle(std::move(file)));
    upcoming_.back()->scheduler.begin();
  }
}

// Gives `file` to an idle reader. REQUIRES: there is one.
ReaderStream::Reader* ReaderStream::open_idle(Unit file, const Position& position, uint64_t left_out) {
  Reader* reader = idle_.back();
  idle_.pop_back();
  file.source = source_index_;
  reader->open(file, position, left_out);
  reader->counted = passed_before(file.file.get(), position.offset);
  return reader;
}

// Called when the file of this turn has ended: the next file takes its place, and this turn.
void ReaderStream::end_file() {
  Reader* ended = places_[turn_];
  // The end of a compressed file is known by now.
  pass_to(*ended, std::max(format_.end_of(*ended->file.file), ended->position.offset));
  idle_.push_back(ended);
  if (Reader* next = take_next()) {
    places_[turn_] = next;
  } else {
    places_.erase(places_.begin() + static_cast<std::ptrdiff_t>(turn_));
  }
}

RowSpan ReaderStream::hand_out(Reader& reader) {
  const RowSpan span = {&reader.cursor.chunk().rows, reader.cursor.rows_passed() - 1, 1};
  const RowId& id = span.block->id(span.begin);
  const uint64_t end = id.offset + id.length;
  pass_to(reader, end);
  reader.position.offset = end;
  reader.position.line = id.next_line;
  reader.left_out = 0;
  settle();
  return span;
}

uint64_t ReaderStream::memory_bound(int threads) const {
  const Shares share = shares(threads);
  return share.readers * scheduler_bound(share.each);
}

void ReaderStream::restart() {
  idle_.clear();
  for (const auto& reader : readers_) {
    reader->stop();
    idle_.push_back(reader.get());
  }
  places_.clear();
  upcoming_.clear();
  turn_ = 0;
  names_ended_ = false;
  names_failure_ = nullptr;
}

void ReaderStream::add_positions(std::vector<TextPlace>& out) const {
  for (const Reader* reader : places_) out.push_back({reader->file.file->index, reader->position.offset});
}

void ReaderStream::save_position(State& state) const {
  state.set("position", {pass_, names_taken_, turn_});
  auto to = state.list("places", places_.size() * kOfPlace).begin();
  for (const Reader* reader : places_) {
    const uint64_t place[kOfPlace] = {reader->file.file_ordinal, reader->position.offset, reader->position.line,
                                      reader->left_out};
    to = std::copy(std::begin(place), std::end(place), to);
  }
}

uint32_t ReaderStream::restore_position(const State& state) {
  const std::vector<uint64_t>& position = position_of(state, {UINT32_MAX, UINT32_MAX, State::kMostCount});
  const std::vector<uint64_t>& places =
      state.counts("places", {UINT32_MAX, UINT64_MAX, State::kMostCount, State::kMostCount});
  const size_t count = places.size() / kOfPlace;
  if (count > most_places_ || position[2] > count) {
    throw DataError(cat("the saved places of ", name_, " do not fit: ", places.size(), " numbers, turn ", position[2]));
  }
  pass_ = static_cast<uint32_t>(position[0]);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t* saved = &places[i * kOfPlace];
    const Position at = {pass_, static_cast<uint32_t>(saved[0]), saved[1], saved[2]};
    places_.push_back(open_idle(file_at(format_, at), at, saved[3]));
  }
  names_taken_ = static_cast<uint32_t>(position[1]);
  attributed(names_, [&] { names_.seek({.pass = pass_, .file_ordinal = names_taken_}); });
  turn_ = position[2];
  return pass_;
}

void ReaderStream::start_pass(uint32_t pass) {
  pass_ = pass;
  names_taken_ = 0;
  attributed(names_, [&] { names_.seek({.pass = pass}); });
}

}  // namespace millrace
