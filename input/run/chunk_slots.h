// ChunkSlots: the chunks that circulate in a ChunkScheduler, and the memory of its tasks. All chunks have as much
// memory as the largest chunk so far needed, so nothing is allocated any more after the largest one. Not synchronised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include "millrace/input/run/transform_chain.h"

namespace millrace {

// Items that wait to be used again. The last one in comes out first, so that few items keep large memory. But items
// that were never used come out before all others: so every item takes its memory in the first rounds, and not in a
// later round that depends on timing. Owns nothing.
template <class T>
class ReuseStack {
 public:
  bool empty() const { return items_.empty(); }
  // Adds an item that was never used. `all` is how many items there are in all, so that give() never allocates.
  void add(T* item, size_t all) {
    items_.reserve(all);
    items_.push_back(item);
    ++unused_;
  }
  // REQUIRES: !empty().
  T* take() {
    T* item = items_.back();
    items_.pop_back();
    if (unused_ > 0) --unused_;
    return item;
  }
  // All items that wait.
  const std::vector<T*>& items() const { return items_; }
  // Gives back an item that take() gave. Items that were never used stay on top.
  void give(T* item) { items_.insert(items_.end() - static_cast<std::ptrdiff_t>(unused_), item); }

 private:
  std::vector<T*> items_;  // the last `unused_` were never used
  size_t unused_ = 0;
};

struct ChunkSlot {
  bool done = false;       // its task has ended
  bool confirmed = false;  // it is known that the task began at a record
  Chunk chunk;
  std::exception_ptr failure;  // not thrown until it is confirmed
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
  // How many chunks there may be if all are as large as the largest so far: enough for the tasks, and to hold the rows
  // that wait.
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

  // The size of the largest chunk so far; it only grows. If some transform wrote into a spare block, every task needs
  // as much memory for that block as a chunk for its rows.
  int64_t most_rows_ = 0;
  RowMemory most_memory_;
  bool has_spares_ = false;
  bool settled_ = false;  // there are as many slots as are wanted, and all free ones have that memory
};

}  // namespace millrace
