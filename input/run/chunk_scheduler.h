// ChunkScheduler: turns units into chunks, on an executor's threads or inline, and hands the chunks on in order.
//
// At most `threads` tasks run at once, none of them waits, and each takes the oldest unit that no task has begun. A
// unit is planned when there is room for its result. There is always room for threads + 1 chunks (the consumer's chunk
// included), and for more while fewer than `rows` rows wait. The chunks circulate, and all have the same memory. The
// largest chunk so far decides how many there are and how large they are, so nothing is allocated any more after the
// largest one. For text, the scheduler checks that each chunk starts where the chunk before ended, and runs a unit
// again if its task guessed wrong. Only the consumer calls next(), restart() and the set-up; any thread may call
// cancel(), also from inside a function of the units or of a transform: no lock is held while one of these runs.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "millrace/core/clock.h"
#include "millrace/core/threads/executor.h"
#include "millrace/core/threads/mutex.h"
#include "millrace/input/run/chunk_slots.h"
#include "millrace/input/run/transform_chain.h"
#include "millrace/input/run/unit_decoder.h"
#include "millrace/input/source.h"

namespace millrace {

// How many decoded rows wait to be handed on: now, and on average over the calls of next(). Notes count like rows, and
// a chunk counts at least 1.
struct RowsHeld {
  uint64_t now = 0;
  double mean = 0;
};

class ChunkScheduler : private Task {
 public:
  // `text`: the units are text, so each chunk must start where the one before ended. `units` and `chain` outlive the
  // scheduler.
  ChunkScheduler(Units& units, const TransformChain& chain, bool text);
  ~ChunkScheduler() override;
  ChunkScheduler(const ChunkScheduler&) = delete;
  ChunkScheduler& operator=(const ChunkScheduler&) = delete;

  // Called at most once, before the first next(). Without an executor everything runs inside next(). With a `decoder`,
  // which outlives the scheduler, tasks run on its executor, and it makes their chunks.
  void start(Executor* executor, const Ahead& ahead, UnitDecoder* decoder = nullptr);

  // The next chunk, whose rows and notes are final, valid until the next call; null after the last unit and after
  // cancel(). An exception that the units throw becomes an error note. Throws the first failure of a task that is not
  // an error in the data; every further call throws it again. REQUIRES: called from inside the executor's run().
  ChunkSlot* next();
  // Whether next() would have to wait for data that come over time. To know that, it plans the next unit, or waits for
  // the task that does. REQUIRES: as next().
  bool waits_for_data();
  // Begins as many units as there is room for, so that next() waits less. REQUIRES: as next().
  void begin();
  // Throws the failure of a task that next() would throw. Cheap if there is none.
  void check() const {
    if (alarmed_.load(std::memory_order_acquire)) raise_failure();
  }
  bool cancelled() const { return cancelled_.load(std::memory_order_acquire); }
  void cancel() noexcept;
  // Says that units which were not ready may be ready now. From any thread, also from inside the units.
  void wake() noexcept;
  // Ends the tasks that run, and forgets the chunks that wait. The caller then moves the units to another position, and
  // next() goes on from there.
  void restart();

  // For tests of bounds.
  ChunkSlots::Held held() const;
  RowsHeld rows_held() const;
  // The work of each link of the chain so far.
  std::vector<TaskMemory::Work> work() const;
  uint64_t waited_nanoseconds() const { return waited_nanoseconds_; }
  // How long no task ran because finished chunks took up all the room.
  uint64_t blocked_nanoseconds() const;
  uint64_t second_tries() const { return second_tries_; }
  // How long the units took to plan, which one thread does at a time: compressed text may be decoded on the way.
  uint64_t planning_nanoseconds() const;

 private:
  using Slot = ChunkSlot;
  // The answer of the units.
  struct NextUnit {
    bool ready = false, found = false;
    Unit unit;
    std::exception_ptr failure;
    uint64_t nanoseconds = 0;  // that it took
  };

  void run() noexcept override;
  void decode(Slot& slot, TaskMemory& memory) noexcept;
  void abandon() noexcept;

  Slot* begin_planning() noexcept MILLRACE_REQUIRES(mutex_);
  NextUnit next_unit() noexcept;
  bool end_planning(Slot& slot, const NextUnit& next) noexcept MILLRACE_REQUIRES(mutex_);
  void end_with(Slot& slot, const std::exception_ptr& failure) noexcept MILLRACE_REQUIRES(mutex_);
  bool has_room() const MILLRACE_REQUIRES(mutex_);
  bool begin_task(Slot& slot, uint64_t sequence) MILLRACE_REQUIRES(mutex_);
  void end_task(Slot& slot, TaskMemory& memory) MILLRACE_REQUIRES(mutex_);
  void join_chunks() MILLRACE_REQUIRES(mutex_);
  bool join_chunk(Slot& slot) MILLRACE_REQUIRES(mutex_);
  Slot* hand_on_first() MILLRACE_REQUIRES(mutex_);
  void release_current() MILLRACE_REQUIRES(mutex_);
  void fail(std::exception_ptr failure) noexcept MILLRACE_REQUIRES(mutex_);
  bool first_is_done() const MILLRACE_REQUIRES(mutex_) { return first_ < planned_ && slot_at(first_).done; }
  bool is_at_end() const MILLRACE_REQUIRES(mutex_) { return ended_ && first_ == planned_; }
  // Whether the next unit is still to be planned.
  bool lacks_unit() const MILLRACE_REQUIRES(mutex_) {
    return first_ == planned_ && !ended_ && !failure_ && !cancelled();
  }
  // Whether the consumer has what it waits for: a chunk, an error or the end; or an answer, if it asks_ for one.
  bool consumer_can_go_on() const MILLRACE_REQUIRES(mutex_) {
    return first_is_done() || failure_ || is_at_end() || (asks_ && !(lacks_unit() && planning_));
  }
  void note_block() noexcept MILLRACE_REQUIRES(mutex_);
  bool take_wake() noexcept MILLRACE_REQUIRES(mutex_) { return std::exchange(consumer_waits_, false); }
  Slot& slot_at(uint64_t sequence) const MILLRACE_REQUIRES(mutex_) { return slots_.at(sequence); }
  // These release the mutex while they wait, plan or decode.
  void plan_more(bool for_consumer) noexcept MILLRACE_REQUIRES(mutex_);
  void wait_for_first(bool asks) MILLRACE_REQUIRES(mutex_);
  void run_here(Slot& slot, uint64_t sequence) MILLRACE_REQUIRES(mutex_);
  Slot* next_inline() MILLRACE_REQUIRES(mutex_);
  Slot* next_planned() MILLRACE_REQUIRES(mutex_);

  void submit() noexcept;
  [[noreturn]] void raise_failure() const { raise_copy(failure_); }

  // Constant after the set-up.
  Units& units_;
  const TransformChain& chain_;
  const bool text_;
  Executor* executor_ = nullptr;
  UnitDecoder* decoder_ = nullptr;
  int64_t ahead_rows_ = 0;
  int threads_ = 1;

  mutable Mutex mutex_;
  ChunkSlots slots_ MILLRACE_GUARDED_BY(mutex_);
  // Sequence numbers of units. first_ is the next to hand on; the one before it may be current_. A task has begun those
  // before started_; those from started_ to planned_ wait for a task. joined_ is the first whose start is not
  // confirmed.
  uint64_t first_ MILLRACE_GUARDED_BY(mutex_) = 0, started_ MILLRACE_GUARDED_BY(mutex_) = 0,
                  planned_ MILLRACE_GUARDED_BY(mutex_) = 0, joined_ MILLRACE_GUARDED_BY(mutex_) = 0;
  // The end of the text chunk before joined_: its offset and line.
  uint64_t chain_end_ MILLRACE_GUARDED_BY(mutex_) = 0, chain_line_ MILLRACE_GUARDED_BY(mutex_) = 0;
  Slot* current_ MILLRACE_GUARDED_BY(mutex_) = nullptr;
  int active_ MILLRACE_GUARDED_BY(mutex_) = 0;            // tasks submitted and not ended
  int64_t waiting_rows_ MILLRACE_GUARDED_BY(mutex_) = 0;  // in chunks that are done, but not handed on
  bool planning_ MILLRACE_GUARDED_BY(mutex_) = false;     // a thread asks the units; only one may
  // The units were asked, or are being asked, and wake() has not come since: they need not be asked again.
  bool unready_ MILLRACE_GUARDED_BY(mutex_) = false;
  bool ended_ MILLRACE_GUARDED_BY(mutex_) = false;
  bool stopping_ MILLRACE_GUARDED_BY(mutex_) = false;
  bool consumer_waits_ MILLRACE_GUARDED_BY(mutex_) = false;
  bool asks_ MILLRACE_GUARDED_BY(mutex_) = false;     // the consumer waits in waits_for_data()
  bool blocked_ MILLRACE_GUARDED_BY(mutex_) = false;  // since blocked_since_
  Clock::time_point blocked_since_ MILLRACE_GUARDED_BY(mutex_);
  uint64_t blocked_nanoseconds_ MILLRACE_GUARDED_BY(mutex_) = 0;
  uint64_t planning_nanoseconds_ MILLRACE_GUARDED_BY(mutex_) = 0;
  std::exception_ptr failure_;  // set once, under mutex_, before alarmed_; read without mutex_ only after alarmed_
  std::vector<TaskMemory::Work> work_ MILLRACE_GUARDED_BY(mutex_);

  std::atomic<bool> alarmed_{false};  // failure_ is set
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> abandoned_{false};  // what running tasks make is not used

  // Used by the consumer only.
  TaskMemory consumer_memory_;
  uint64_t waited_nanoseconds_ = 0;
  uint64_t calls_ = 0, held_at_calls_ = 0;  // rows that waited, added up over the calls of next()
  uint64_t second_tries_ = 0;

  std::unique_ptr<Completion> first_done_;
  std::unique_ptr<TaskGroup> tasks_;  // last: its destructor waits for the tasks
};

}  // namespace millrace
