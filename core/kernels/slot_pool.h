// SlotPool: numbers that tasks borrow while they run, so that they share a few buffers.
//
// Thread-safe. REQUIRES: no more tasks at once than slots; then acquire() never waits.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

namespace millrace::cpu {

class SlotPool {
 public:
  explicit SlotPool(size_t slots) : slots_(slots), taken_(std::make_unique<std::atomic<bool>[]>(slots)) {}

  size_t size() const { return slots_; }

  // One slot until the end of the block.
  class Lease {
   public:
    explicit Lease(SlotPool& pool) : pool_(pool), slot_(pool.acquire()) {}
    ~Lease() { pool_.taken_[slot_].store(false, std::memory_order_release); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    size_t slot() const { return slot_; }

   private:
    SlotPool& pool_;
    size_t slot_;
  };

 private:
  size_t acquire() {
    for (;;) {
      for (size_t slot = 0; slot < slots_; ++slot) {
        if (!taken_[slot].load(std::memory_order_relaxed) && !taken_[slot].exchange(true, std::memory_order_acquire)) {
          return slot;
        }
      }
    }
  }

  size_t slots_;
  std::unique_ptr<std::atomic<bool>[]> taken_;
};

}  // namespace millrace::cpu
