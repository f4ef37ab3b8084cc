// File descriptors: how many this process may have (`ulimit -n`), and turns to use them. The turns keep the descriptors
// from running out, however many files there are.
//
//   const ReadingTurn turn;  // waits while too many others have a turn
//
// Thread-safe. All threads of the process share the turns, as they share the descriptors.
#pragma once

#include <cstdint>

namespace millrace {

uint64_t most_descriptors();

// The right of a task to have a file open. There are as many turns as a quarter of the descriptors, at least 1.
// REQUIRES: a task that has a turn waits for no other task.
class ReadingTurn {
 public:
  ReadingTurn();
  ~ReadingTurn();
  ReadingTurn(const ReadingTurn&) = delete;
  ReadingTurn& operator=(const ReadingTurn&) = delete;
};

}  // namespace millrace
