// ProcessorSeats: the processors of threads that work together, so that no two threads share one while another is free.
//
// A kernel with more threads to run than processors may put two threads of a pool on one processor and leave another to
// a foreign process. The pool then has half of its speed, although it could have three quarters, for seconds.
//
//   ProcessorSeats seats(threads);
//   const ProcessorSeats::Seat seat(seats, /*may_move=*/true);   // at the start of a piece of work
//
// Thread-safe. A thread that moves may afterwards run on the same processors as before. REQUIRES: every Seat ends
// before its ProcessorSeats.
#pragma once

#include <atomic>
#include <vector>

namespace millrace {

class ProcessorSeats {
 public:
  // For `threads` threads that run where this one may; keeps no seats if there are fewer processors than threads.
  explicit ProcessorSeats(int threads);

  // A seat of this thread until the end of the block. Seats of one thread nest: only the outermost counts.
  class Seat {
   public:
    // If another thread works on this processor, a thread that `may_move` goes to a processor on which none does.
    Seat(ProcessorSeats& seats, bool may_move);
    ~Seat();
    Seat(const Seat&) = delete;
    Seat& operator=(const Seat&) = delete;

   private:
    std::atomic<int>* taken_ = nullptr;
  };

 private:
  // How many threads are in the middle of work on one processor. It has a cache line of its own.
  struct alignas(64) Count {
    std::atomic<int> threads{0};
  };

  std::atomic<int>* taken_here();
  bool move() const;

  std::vector<Count> taken_;  // by processor; empty if no seats are kept
};

}  // namespace millrace
