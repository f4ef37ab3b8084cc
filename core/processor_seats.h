// ProcessorSeats: which processors threads that work together are on, so that no two of them share one while others
// could be had.
//
// A kernel that has more threads to run than processors may put two threads of a pool on one and leave another to a
// foreign process. That halves the pool where it could have had three quarters, and it stays so for seconds.
//
//   ProcessorSeats seats(threads);
//   const ProcessorSeats::Seat seat(seats, /*may_move=*/true);   // at the start of a piece of work
//
// Thread-safe. A thread that moves may run on the same processors as before. REQUIRES: every Seat goes before its
// seats.
#pragma once

#include <atomic>
#include <vector>

namespace millrace {

class ProcessorSeats {
 public:
  // Of `threads` threads that run where this one may; seats are not kept when those are fewer processors.
  explicit ProcessorSeats(int threads);

  // This thread's until the end of the block. Seats of one thread nest: only the outermost counts.
  class Seat {
   public:
    // Where another one works on this processor, a thread that `may_move` goes to one where nobody does.
    Seat(ProcessorSeats& seats, bool may_move);
    ~Seat();
    Seat(const Seat&) = delete;
    Seat& operator=(const Seat&) = delete;

   private:
    std::atomic<int>* taken_ = nullptr;
  };

 private:
  // Of one processor: how many threads are in the middle of work there. Alone in its cache line.
  struct alignas(64) Count {
    std::atomic<int> threads{0};
  };

  std::atomic<int>* taken_here();
  bool move() const;

  std::vector<Count> taken_;  // by processor; empty when seats are not kept
};

}  // namespace millrace
