#include "millrace/input/run/chunk_slots.h"

#include <algorithm>

#include "millrace/core/sizes.h"

namespace millrace {

namespace {

// The most chunks that may wait in addition to those in work, whatever the capacity. More would not hide longer delays.
constexpr int64_t kMostAhead = 256;

}  // namespace

void ChunkSlots::set_room(int tasks, int64_t ahead_rows) {
  tasks_ = tasks;
  ahead_rows_ = ahead_rows;
  while (memories_.size() < static_cast<size_t>(tasks)) {
    memories_.push_back(std::make_unique<TaskMemory>());
    free_memories_.add(memories_.back().get(), memories_.size());
  }
  settled_ = false;
}

uint64_t ChunkSlots::wanted() const {
  if (tasks_ == 0) return 1;
  const int64_t ahead = most_rows_ == 0 ? 0 : std::min(ceil_div(ahead_rows_, most_rows_), kMostAhead);
  return static_cast<uint64_t>(tasks_ + 1 + ahead);
}

ChunkSlot& ChunkSlots::append(uint64_t first, uint64_t number) {
  if (!settled_) settle(first, number);
  ChunkSlot& slot = *free_.take();
  slot.done = false;
  slot.confirmed = false;
  slot.failure = nullptr;
  ring_[number % ring_.size()] = &slot;
  return slot;
}

void ChunkSlots::release(ChunkSlot& slot) {
  free_.give(&slot);
  if (slots_.size() > wanted() || !slot.memory.covers(most_memory_)) settled_ = false;
}

void ChunkSlots::release_memory(TaskMemory& memory) {
  free_memories_.give(&memory);
  if (has_spares_ && !memory.spare.memory().covers(most_memory_)) settled_ = false;
}

void ChunkSlots::learn(ChunkSlot& slot, const RowMemory& spare) {
  const int64_t rows = slot.chunk.rows.size();
  slot.memory = slot.chunk.rows.memory();
  has_spares_ = has_spares_ || spare.bytes > 0;
  if (rows <= most_rows_ && most_memory_.covers(slot.memory) && most_memory_.covers(spare)) return;
  most_rows_ = std::max(most_rows_, rows);
  most_memory_.cover(slot.memory);
  most_memory_.cover(spare);
  settled_ = false;
}

// Makes as many slots as are wanted, or drops free ones, and gives all free slots and task memories the same memory.
// The slots with the numbers from `first` to `end` are in use.
void ChunkSlots::settle(uint64_t first, uint64_t end) {
  const uint64_t count = wanted();
  while (slots_.size() > count && !free_.empty()) {
    const ChunkSlot* surplus = free_.take();
    std::erase_if(slots_, [surplus](const std::unique_ptr<ChunkSlot>& slot) { return slot.get() == surplus; });
  }
  while (slots_.size() < count) {
    slots_.push_back(std::make_unique<ChunkSlot>());
    free_.add(slots_.back().get(), slots_.size());
  }
  if (ring_.size() < slots_.size()) {
    std::vector<ChunkSlot*> larger(slots_.size());
    for (uint64_t number = first; number < end; ++number) {
      larger[number % larger.size()] = ring_[number % ring_.size()];
    }
    ring_ = std::move(larger);
  }
  for (ChunkSlot* slot : free_.items()) {
    slot->chunk.rows.clear();
    slot->chunk.rows.reserve(most_memory_);
    slot->memory = slot->chunk.rows.memory();
  }
  for (TaskMemory* memory : free_memories_.items()) {
    memory->spare.clear();
    if (has_spares_) memory->spare.reserve(most_memory_);
  }
  settled_ = true;
}

ChunkSlots::Held ChunkSlots::held() const {
  Held held = {slots_.size(), 0};
  for (const auto& slot : slots_) held.bytes += slot->memory.total();
  return held;
}

}  // namespace millrace
