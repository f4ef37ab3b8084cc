#include "millrace/core/threads/processor_seats.h"

#include <sched.h>

namespace millrace {

namespace {

constinit thread_local bool seated = false;

}  // namespace

ProcessorSeats::ProcessorSeats(int threads) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (threads < 2 || sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < threads) return;
  int last = CPU_SETSIZE - 1;
  while (!CPU_ISSET(last, &allowed)) --last;
  taken_ = std::vector<Count>(static_cast<size_t>(last) + 1);
}

// The count of the processor that this thread is on; null if that processor was not allowed when the seats were made.
std::atomic<int>* ProcessorSeats::taken_here() {
  const int processor = sched_getcpu();
  if (processor < 0 || static_cast<size_t>(processor) >= taken_.size()) return nullptr;
  return &taken_[static_cast<size_t>(processor)].threads;
}

// Moves this thread to a free processor; false if there is none.
bool ProcessorSeats::move() const {
  cpu_set_t allowed, free;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return false;
  free = allowed;
  for (size_t i = 0; i < taken_.size(); ++i) {
    if (taken_[i].threads.load(std::memory_order_relaxed) > 0) CPU_CLR(i, &free);
  }
  if (CPU_COUNT(&free) == 0 || sched_setaffinity(0, sizeof free, &free) != 0) return false;
  sched_setaffinity(0, sizeof allowed, &allowed);
  return true;
}

ProcessorSeats::Seat::Seat(ProcessorSeats& seats, bool may_move) {
  if (seats.taken_.empty() || seated) return;
  taken_ = seats.taken_here();
  if (taken_ != nullptr && taken_->fetch_add(1, std::memory_order_relaxed) > 0 && may_move && seats.move()) {
    taken_->fetch_sub(1, std::memory_order_relaxed);
    taken_ = seats.taken_here();
    if (taken_ != nullptr) taken_->fetch_add(1, std::memory_order_relaxed);
  }
  seated = taken_ != nullptr;
}

ProcessorSeats::Seat::~Seat() {
  if (taken_ == nullptr) return;
  taken_->fetch_sub(1, std::memory_order_relaxed);
  seated = false;
}

}  // namespace millrace
