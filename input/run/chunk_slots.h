// ChunkSlots: the chunks that circulate in a ChunkScheduler, and the memory of its tasks. All chunks have as much
// memory as the largest chunk so far needed, so nothing is allocated any more after the largest one. Not synchronised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include "millrace/input/run/reuse_stack.h"
#include "millrace/input/run/transform_chain.h"

namespace millrace {

// How large the chunks of a stream get, and so how many there should be. The sizes only grow.
class ChunkSizes {
 public:
  // A chunk of `rows` rows needed `memory` for them, and `spare` for what its transforms wrote into the spare block.
  // True if any of the three is larger than ever before.
  bool add(int64_t rows, const RowMemory& memory, const RowMemory& spare);

  // How many chunks may exist at once if all are as large as the largest so far: `in_work` chunks, and enough to hold
  // `ahead_rows` rows that wait.
  uint64_t wanted(int64_t ahead_rows, uint64_t in_work) const;
  // The memory that every chunk needs for its rows. If has_spares(), some transform writes into a spare block, and
  // every task needs as much for that block.
  const RowMemory& memory() const { return memory_; }
  bool has_spares() const { return has_spares_; }

 private:
  int64_t most_rows_ = 0;
  RowMemory memory_;
  bool has_spares_ = false;
};

struct ChunkSlot {
  enum class Stage : uint8_t { planned, running, done };
  Stage stage = Stage::planned;
  bool confirmed = false;
  Chunk chunk;
  std::exception_ptr failure;  // not thrown until it is known that the task began at a record
  // Text, once confirmed: the offset where the chunk's first line starts, and the number of that line.
  uint64_t begin = 0, line = 0;
  int64_t waiting_rows = 0;  // if done and not handed on: how many rows and notes it has, at least 1
  RowMemory memory;          // the memory of the chunk's rows
};

class ChunkSlots {
 public:
  // Makes room for `tasks` tasks at once and for `ahead_rows` rows that wait; 0 tasks: one chunk at a time, in the
  // caller's memory.
  void set_room(int tasks, int64_t ahead_rows);
  // How many chunks there may be.
  uint64_t wanted() const;

  // A slot for the unit with the number `number`; `first` is the smallest number still in use.
  ChunkSlot& append(uint64_t first, uint64_t number);
  // REQUIRES: append() gave the slot, and release() has not taken it back.
  ChunkSlot& at(uint64_t number) const { return *ring_[number % ring_.size()]; }
  void release(ChunkSlot& slot);

  // The memory for one task. REQUIRES: fewer tasks run than there is room for.
  TaskMemory& take_memory() { return *free_memories_.take(); }
  void release_memory(TaskMemory& memory);
  // Learns how much memory the chunk in `slot` needed; `spare` is what its transforms wrote into the spare block.
  void learn(ChunkSlot& slot, const RowMemory& spare);

  // How many chunks exist, and the bytes of their rows.
  struct Held {
    size_t chunks = 0;
    size_t bytes = 0;
  };
  Held held() const;

 private:
  void settle(uint64_t first, uint64_t end);

  int tasks_ = 0;
  int64_t ahead_rows_ = 0;
  std::vector<std::unique_ptr<ChunkSlot>> slots_;
  std::vector<ChunkSlot*> ring_;  // by number; at least as long as there are slots
  ReuseStack<ChunkSlot> free_;
  std::vector<std::unique_ptr<TaskMemory>> memories_;
  ReuseStack<TaskMemory> free_memories_;
  ChunkSizes sizes_;
  bool settled_ = false;  // all free slots and memories are as sizes_ wants them
};

}  // namespace millrace
