#include "millrace/input/run/chunk_scheduler.h"

#include <algorithm>

#include "millrace/core/text.h"

namespace millrace {

namespace {

// A read that failed is reported at once, even if the task may have begun in the middle of a record. Any other failure,
// such as lack of memory, may be due to that wrong beginning.
bool is_of_a_read(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const IoError&) {
    return true;
  } catch (...) {
    return false;
  }
}

bool ends_with_error(const Chunk& chunk) {
  return !chunk.notes.empty() && chunk.notes.back().kind == Note::Kind::error;
}

}  // namespace

ChunkScheduler::ChunkScheduler(Units& units, const TransformChain& chain, bool text)
    : units_(units), chain_(chain), text_(text), work_(chain.links().size()) {}

ChunkScheduler::~ChunkScheduler() {
  // interrupt() may call code of the program, which may be destroying other objects, too. So it is called only if tasks
  // may still run.
  if (tasks_ && !cancelled()) cancel();
  if (tasks_) tasks_->wait();
  try {
    units_.set_wake({});
  } catch (...) {  // a destructor cannot report it
  }
}

void ChunkScheduler::start(Executor* executor, const Ahead& ahead, UnitDecoder* decoder) {
  executor_ = executor;
  if (executor == nullptr) return;
  decoder_ = decoder;
  Executor& runs = decoder == nullptr ? *executor : decoder->executor();
  first_done_ = std::make_unique<Completion>(*executor);
  tasks_ = std::make_unique<TaskGroup>(runs);
  ahead_rows_ = ahead.rows;
  threads_ = ahead.threads == 0 ? runs.threads() : std::min(ahead.threads, runs.threads());
  {
    const MutexLock lock(mutex_);
    slots_.set_room(threads_, ahead_rows_);
  }
  units_.set_wake([this] { wake(); });
}

void ChunkScheduler::cancel() noexcept {
  cancelled_.store(true, std::memory_order_release);
  abandon();
  units_.interrupt();
  wake();
}

// Lets go of the answers of workers that tasks wait for.
void ChunkScheduler::abandon() noexcept {
  abandoned_.store(true);
  if (decoder_ != nullptr) decoder_->wake();
}

void ChunkScheduler::wake() noexcept {
  bool wake = false;
  {
    const MutexLock lock(mutex_);
    unready_ = false;
    wake = take_wake();
  }
  if (wake) first_done_->signal();
}

ChunkSlot* ChunkScheduler::next() {
  const MutexLock lock(mutex_);
  release_current();
  ++calls_;
  held_at_calls_ += static_cast<uint64_t>(waiting_rows_);
  return executor_ == nullptr ? next_inline() : next_planned();
}

bool ChunkScheduler::waits_for_data() {
  const MutexLock lock(mutex_);
  if (executor_ == nullptr) {  // no other thread asks the units
    if (!lacks_unit()) return false;
    const MutexUnlock unlocked(mutex_);
    return !units_.ready();
  }
  while (lacks_unit()) {
    plan_more(true);
    if (unready_ && !planning_) break;
    if (lacks_unit()) wait_for_first(true);
  }
  return lacks_unit();
}

void ChunkScheduler::begin() {
  if (executor_ == nullptr) return;
  const MutexLock lock(mutex_);
  plan_more(true);
}

ChunkScheduler::Slot* ChunkScheduler::next_inline() {
  if (Slot* const slot = begin_planning()) {
    NextUnit next;
    {
      const MutexUnlock unlocked(mutex_);
      next = next_unit();
    }
    waited_nanoseconds_ += next.nanoseconds;
    if (end_planning(*slot, next)) {
      const auto start = Clock::now();
      run_here(*slot, started_++);
      waited_nanoseconds_ += nanoseconds_since(start);
    }
  }
  if (failure_) raise_failure();
  return first_is_done() ? hand_on_first() : nullptr;
}

ChunkScheduler::Slot* ChunkScheduler::next_planned() {
  for (;;) {
    plan_more(true);
    if (failure_) raise_failure();
    if (cancelled() || is_at_end()) return nullptr;
    if (!first_is_done()) {
      wait_for_first(false);
    } else if (slot_at(first_).confirmed) {
      return hand_on_first();
    } else {
      waiting_rows_ -= slot_at(first_).waiting_rows;
      ++second_tries_;
      run_here(slot_at(first_), first_);
    }
  }
}

ChunkScheduler::Slot* ChunkScheduler::hand_on_first() {
  current_ = &slot_at(first_++);
  waiting_rows_ -= current_->waiting_rows;
  return current_;
}

void ChunkScheduler::wait_for_first(bool asks) {
  const auto start = Clock::now();
  TraceRange range(chain_.trace(), "wait", "wait for chunk", start);
  {
    const MutexUnlock unlocked(mutex_);
    first_done_->arm();
  }
  asks_ = asks;
  const bool waits = !consumer_can_go_on() && !cancelled() && (planning_ || !has_room());
  consumer_waits_ = waits;
  {
    const MutexUnlock unlocked(mutex_);
    if (!waits) first_done_->signal();
    first_done_->wait();
  }
  const auto end = Clock::now();
  waited_nanoseconds_ += nanoseconds_between(start, end);
  range.end(end);
}

void ChunkScheduler::run_here(Slot& slot, uint64_t sequence) {
  if (begin_task(slot, sequence)) {
    const MutexUnlock unlocked(mutex_);
    slot.failure = chain_.apply(slot.chunk, consumer_memory_);
  }
  end_task(slot, consumer_memory_);
}

void ChunkScheduler::release_current() {
  if (current_ != nullptr) slots_.release(*std::exchange(current_, nullptr));
}

void ChunkScheduler::restart() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  abandon();
  if (tasks_) tasks_->wait();
  abandoned_.store(cancelled());
  const MutexLock lock(mutex_);
  release_current();
  for (; first_ < planned_; ++first_) slots_.release(slot_at(first_));
  started_ = joined_ = first_;
  waiting_rows_ = 0;
  active_ = 0;
  ended_ = false;
  unready_ = false;
  stopping_ = false;
  blocked_ = false;
}

void ChunkScheduler::run() noexcept {
  Slot* slot = nullptr;
  TaskMemory* memory = nullptr;
  bool to_do = false;
  {
    const MutexLock lock(mutex_);
    if (stopping_ || cancelled()) {
      --active_;
      return;
    }
    slot = &slot_at(started_);
    to_do = begin_task(*slot, started_++);
    memory = &slots_.take_memory();
  }
  if (to_do) decode(*slot, *memory);
  const MutexLock lock(mutex_);
  end_task(*slot, *memory);
  slots_.release_memory(*memory);
  --active_;
  // While this releases the mutex, the consumer may go on, and other tasks may run. The group keeps this object alive
  // until the task ends.
  plan_more(false);
}

void ChunkScheduler::submit() noexcept {
  try {
    tasks_->submit(*this);
  } catch (...) {
    {
      const MutexLock lock(mutex_);
      --active_;
      fail(chain_.failure_of_first());
    }
    wake();
  }
}

void ChunkScheduler::decode(Slot& slot, TaskMemory& memory) noexcept {
  slot.failure =
      decoder_ != nullptr ? decoder_->apply(slot.chunk, memory, abandoned_) : chain_.apply(slot.chunk, memory);
}

// Plans units while there is room, and submits a task for each. The consumer itself stops as soon as it has a chunk to
// hand on. Wakes the consumer if it waits and has something to do.
void ChunkScheduler::plan_more(bool for_consumer) noexcept {
  for (bool submits = false;;) {
    const bool enough = for_consumer && submits && first_is_done();
    Slot* const slot = enough ? nullptr : begin_planning();
    const bool wakes = consumer_can_go_on() && take_wake();  // begin_planning() may have failed
    if (slot == nullptr) note_block();
    if (slot == nullptr && !wakes && !submits) return;
    NextUnit next;
    {
      const MutexUnlock unlocked(mutex_);
      if (wakes) first_done_->signal();
      if (submits) submit();
      if (slot != nullptr) next = next_unit();
    }
    if (slot == nullptr) return;
    if (for_consumer) waited_nanoseconds_ += next.nanoseconds;
    submits = end_planning(*slot, next);
    if (submits) ++active_;
  }
}

// A slot for the next unit, if there is room and no other thread plans. This thread then plans until end_planning(),
// and releases the mutex while it asks the units: they may be code of the program, which may take long or call
// cancel().
ChunkScheduler::Slot* ChunkScheduler::begin_planning() noexcept {
  if (planning_ || !has_room()) return nullptr;
  try {
    Slot& slot = slots_.append(first_, planned_);
    planning_ = true;
    unready_ = executor_ != nullptr;  // wake() may clear it from here on
    return &slot;
  } catch (...) {
    fail(chain_.failure_of_first());
    return nullptr;
  }
}

ChunkScheduler::NextUnit ChunkScheduler::next_unit() noexcept {
  NextUnit next;
  const Clock::time_point start = Clock::now();
  try {
    next.ready = executor_ == nullptr || units_.ready();
    next.found = next.ready && units_.next(next.unit);
  } catch (...) {
    next.unit = {};
    next.unit.exact = true;
    next.failure = chain_.failure_of_first();
  }
  next.nanoseconds = nanoseconds_since(start);
  return next;
}

// Puts the unit after the earlier ones; returns whether it needs a task.
bool ChunkScheduler::end_planning(Slot& slot, const NextUnit& next) noexcept {
  planning_ = false;
  planning_nanoseconds_ += next.nanoseconds;
  if (next.ready) unready_ = false;
  if (!next.found && !next.failure) {
    ended_ = next.ready;
    slots_.release(slot);
  } else {
    ++planned_;
    slot.chunk.reset(next.unit);
    if (next.failure) end_with(slot, next.failure);
  }
  // The time without room ends when a task runs again, or when no unit is left.
  if ((next.found || ended_) && std::exchange(blocked_, false)) {
    blocked_nanoseconds_ += nanoseconds_since(blocked_since_);
  }
  return next.found;
}

// The failure becomes an error after all earlier chunks; no unit comes after it.
void ChunkScheduler::end_with(Slot& slot, const std::exception_ptr& failure) noexcept {
  ended_ = true;
  try {
    slot.chunk.fail(failure);
  } catch (...) {
    fail(failure);
  }
  slot.done = true;
  waiting_rows_ += slot.waiting_rows = 1;
  join_chunks();
}

bool ChunkScheduler::has_room() const {
  if (ended_ || unready_ || stopping_ || failure_ || cancelled() || active_ >= threads_) return false;
  const uint64_t chunks = planned_ - first_ + (current_ != nullptr ? 1 : 0);
  return chunks <= static_cast<uint64_t>(threads_) || (waiting_rows_ < ahead_rows_ && chunks < slots_.wanted());
}

// Notes the time if no task can run until the consumer takes something.
void ChunkScheduler::note_block() noexcept {
  if (blocked_ || active_ > 0 || planning_ || ended_ || unready_ || failure_ || has_room()) return;
  blocked_ = true;
  blocked_since_ = Clock::now();
}

// Makes the unit exact if the chunk before it has ended. Returns false if no record can begin in the unit.
bool ChunkScheduler::begin_task(Slot& slot, uint64_t sequence) {
  slot.done = false;
  Unit unit = slot.chunk.unit;
  if (text_ && !unit.exact && joined_ == sequence) {
    if (chain_end_ >= unit.end) return false;
    unit.begin = chain_end_;
    unit.line = chain_line_;
    unit.exact = true;
  }
  slot.chunk.reset(unit);
  return true;
}

void ChunkScheduler::end_task(Slot& slot, TaskMemory& memory) {
  slots_.learn(slot, memory.spare.memory());
  slot.waiting_rows = std::max<int64_t>(slot.chunk.rows.size() + std::ssize(slot.chunk.notes), 1);
  waiting_rows_ += slot.waiting_rows;
  slot.done = true;
  for (size_t link = 0; link < memory.done.size(); ++link) {
    work_[link] += std::exchange(memory.done[link], {});
  }
  if (slot.failure && !abandoned_.load() && is_of_a_read(slot.failure)) fail(slot.failure);
  join_chunks();
}

void ChunkScheduler::join_chunks() {
  while (!abandoned_.load() && joined_ < planned_ && slot_at(joined_).done && join_chunk(slot_at(joined_))) ++joined_;
}

// Sets the beginning of the chunk, which is the end of the chunk before; false if its task began elsewhere.
bool ChunkScheduler::join_chunk(Slot& slot) {
  Chunk& chunk = slot.chunk;
  const Unit& unit = chunk.unit;
  if (text_ && unit.exact) {
    chain_end_ = unit.begin;
    chain_line_ = unit.line;
  }
  slot.begin = chain_end_;
  slot.line = chain_line_;
  if (text_ && !unit.exact && chain_end_ >= unit.end) {
    chunk.reset(unit);
    chunk.end_record = chain_end_;
    slot.failure = nullptr;
  } else if (text_) {
    if (!unit.exact && chunk.first_record != chain_end_) return false;
    if (!slot.failure && !ends_with_error(chunk) && chunk.end_record < unit.end) {
      slot.failure =
          std::make_exception_ptr(InternalError(cat(chain_.links().back().name, " stopped at byte ", chunk.end_record,
                                                    " of bytes ", unit.begin, " to ", unit.end, " and gave no reason"),
                                                unit.file ? Place{unit.file->path} : Place{}));
    }
    chain_end_ = chunk.end_record;
    chain_line_ += chunk.lines;
  }
  if (slot.failure) fail(slot.failure);
  slot.confirmed = true;
  chunk.unit.part.reset();  // only a second try would need it
  return true;
}

void ChunkScheduler::fail(std::exception_ptr failure) noexcept {
  if (!failure_) failure_ = std::move(failure);
  alarmed_.store(true, std::memory_order_release);
}

ChunkSlots::Held ChunkScheduler::held() const {
  const MutexLock lock(mutex_);
  return slots_.held();
}

RowsHeld ChunkScheduler::rows_held() const {
  const MutexLock lock(mutex_);
  const double mean = calls_ == 0 ? 0 : static_cast<double>(held_at_calls_) / static_cast<double>(calls_);
  return {static_cast<uint64_t>(waiting_rows_), mean};
}

uint64_t ChunkScheduler::blocked_nanoseconds() const {
  const MutexLock lock(mutex_);
  return blocked_nanoseconds_ + (blocked_ ? nanoseconds_since(blocked_since_) : 0);
}

uint64_t ChunkScheduler::planning_nanoseconds() const {
  const MutexLock lock(mutex_);
  return planning_nanoseconds_;
}

std::vector<TaskMemory::Work> ChunkScheduler::work() const {
  const MutexLock lock(mutex_);
  return work_;
}

}  // namespace millrace
