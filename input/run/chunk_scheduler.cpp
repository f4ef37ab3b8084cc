#include "millrace/input/run/chunk_scheduler.h"

#include <algorithm>

#include "millrace/core/text.h"

namespace millrace {

namespace {

// Failures of the machine are told at once, even when the task may have begun in the middle of a record.
bool is_of_the_machine(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const IoError&) {
    return true;
  } catch (const DeviceError&) {
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
  cancel();
  units_.set_wake({});
  if (tasks_) tasks_->wait();
}

void ChunkScheduler::start(Executor* executor, const Ahead& ahead) {
  executor_ = executor;
  if (executor == nullptr) return;
  first_done_ = std::make_unique<Completion>(*executor);
  tasks_ = std::make_unique<TaskGroup>(*executor);
  ahead_rows_ = ahead.rows;
  threads_ = ahead.threads == 0 ? executor->threads() : std::min(ahead.threads, executor->threads());
  {
    const MutexLock lock(mutex_);
    slots_.set_room(threads_, ahead_rows_);
  }
  units_.set_wake([this] { wake(); });
}

void ChunkScheduler::cancel() noexcept {
  cancelled_.store(true, std::memory_order_release);
  units_.interrupt();
  wake();
}

void ChunkScheduler::wake() noexcept {
  bool wake = false;
  {
    const MutexLock lock(mutex_);
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

void ChunkScheduler::begin() {
  if (executor_ == nullptr) return;
  int tasks = 0;
  {
    const MutexLock lock(mutex_);
    tasks = plan_more();
  }
  submit(tasks);
}

ChunkScheduler::Slot* ChunkScheduler::next_inline() {
  if (failure_) raise_failure();
  if (cancelled() || ended_) return nullptr;
  if (plan()) {
    Slot& slot = slot_at(started_);
    const bool to_do = begin_task(slot, started_++);
    const auto start = Clock::now();
    if (to_do) {
      const MutexUnlock unlocked(mutex_);
      decode(slot, consumer_memory_);
    }
    waited_nanoseconds_ += nanoseconds_since(start);
    end_task(slot, consumer_memory_);
    if (failure_) raise_failure();
  }
  return first_is_done() ? hand_on_first() : nullptr;
}

ChunkScheduler::Slot* ChunkScheduler::next_planned() {
  for (;;) {
    if (failure_) raise_failure();
    if (cancelled()) return nullptr;
    if (const int tasks = plan_more(); tasks > 0) {
      const MutexUnlock unlocked(mutex_);
      submit(tasks);
    } else if (first_ == planned_ && ended_) {
      return nullptr;
    } else if (!first_is_done()) {
      wait_for_first();
    } else if (!slot_at(first_).confirmed) {
      run_again(slot_at(first_));
    } else {
      return hand_on_first();
    }
  }
}

ChunkScheduler::Slot* ChunkScheduler::hand_on_first() {
  current_ = &slot_at(first_++);
  waiting_rows_ -= current_->waiting_rows;
  return current_;
}

void ChunkScheduler::wait_for_first() {
  const auto start = Clock::now();
  TraceRange range(chain_.trace(), "wait", "wait for chunk", start);
  {
    const MutexUnlock unlocked(mutex_);
    first_done_->arm();
  }
  const bool waits = !first_is_done() && !failure_ && !cancelled() && !has_room();
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

void ChunkScheduler::run_again(Slot& slot) {
  waiting_rows_ -= slot.waiting_rows;
  ++second_tries_;
  begin_task(slot, first_);
  {
    const MutexUnlock unlocked(mutex_);
    decode(slot, consumer_memory_);
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
  if (tasks_) tasks_->wait();
  const MutexLock lock(mutex_);
  release_current();
  for (; first_ < planned_; ++first_) slots_.release(slot_at(first_));
  started_ = joined_ = first_;
  waiting_rows_ = 0;
  active_ = 0;
  ended_ = false;
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
  int tasks = 0;
  bool wake = false;
  {
    const MutexLock lock(mutex_);
    end_task(*slot, *memory);
    slots_.release_memory(*memory);
    --active_;
    tasks = plan_more();
    note_block();
    if (failure_ || first_is_done()) wake = take_wake();
  }
  // The consumer may go on from here, and other tasks may run; the group keeps this object alive until the task ends.
  if (wake) first_done_->signal();
  submit(tasks);
}

void ChunkScheduler::submit(int tasks) noexcept {
  for (; tasks > 0; --tasks) {
    try {
      tasks_->submit(*this);
    } catch (...) {
      {
        const MutexLock lock(mutex_);
        --active_;
        fail(as_error(std::current_exception(), chain_.links().front().name));
      }
      wake();
    }
  }
}

void ChunkScheduler::decode(Slot& slot, TaskMemory& memory) noexcept {
  slot.failure = chain_.apply(slot.chunk, memory);
}

// Behind a task: whether the room is full, so that nothing runs until the consumer takes something.
void ChunkScheduler::note_block() noexcept {
  if (active_ > 0 || ended_ || failure_ || !units_.ready()) return;
  blocked_ = true;
  blocked_since_ = Clock::now();
}

// Makes plans while there is room, and returns how many tasks to submit once the mutex is free.
int ChunkScheduler::plan_more() noexcept {
  int tasks = 0;
  try {
    while (has_room()) {
      if (!plan()) continue;
      ++active_;
      ++tasks;
    }
  } catch (...) {
    fail(as_error(std::current_exception(), chain_.links().front().name));
  }
  // It ends where something runs again, or where nothing is left to run.
  if ((tasks > 0 || ended_) && std::exchange(blocked_, false)) {
    blocked_nanoseconds_ += nanoseconds_since(blocked_since_);
  }
  return tasks;
}

bool ChunkScheduler::has_room() const {
  if (ended_ || stopping_ || failure_ || cancelled() || active_ >= threads_) return false;
  const uint64_t chunks = planned_ - first_ + (current_ != nullptr ? 1 : 0);
  const bool room =
      chunks <= static_cast<uint64_t>(threads_) || (waiting_rows_ < ahead_rows_ && chunks < slots_.wanted());
  return room && units_.ready();
}

// Takes the next unit; returns whether there is something to do for it.
bool ChunkScheduler::plan() {
  Slot& slot = slots_.append(first_, planned_);
  ++planned_;
  Unit unit;
  try {
    if (!units_.next(unit)) {
      ended_ = true;
      --planned_;
      slots_.release(slot);
      return false;
    }
    slot.chunk.reset(unit);
    return true;
  } catch (...) {
    // What comes before is used first; nothing can come behind.
    ended_ = true;
    unit = {};
    unit.exact = true;
    slot.chunk.reset(unit);
    slot.chunk.fail(as_error(std::current_exception(), chain_.links().front().name));
    slot.done = true;
    waiting_rows_ += slot.waiting_rows = 1;
    join_chunks();
    return false;
  }
}

// Gives the task what is known of where its unit begins; returns whether any record can begin in it.
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
  if (slot.failure && is_of_the_machine(slot.failure)) fail(slot.failure);
  join_chunks();
}

void ChunkScheduler::join_chunks() {
  while (joined_ < planned_ && slot_at(joined_).done && join_chunk(slot_at(joined_))) ++joined_;
}

// Settles where the chunk begins, which is where the one before ended; false when its task began elsewhere.
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
  chunk.unit.part.reset();  // only a second try would read it again
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

std::vector<TaskMemory::Work> ChunkScheduler::work() const {
  const MutexLock lock(mutex_);
  return work_;
}

}  // namespace millrace
