// Descriptors: how many this process may have (`ulimit -n`), and turns to use them, so that they do not run out however
// many files there are.
//
//   const ReadingTurn turn;  // waits while too many others have theirs
//
// Thread-safe. The turns are the whole process's, as its descriptors are.
#pragma once

#include <cstdint>

namespace millrace {

uint64_t most_descriptors();

// The right of a task to have a file open: a quarter of the descriptors, at least 1, is used so at once. REQUIRES: who
// has a turn waits for nobody else.
class ReadingTurn {
 public:
  ReadingTurn();
  ~ReadingTurn();
  ReadingTurn(const ReadingTurn&) = delete;
  ReadingTurn& operator=(const ReadingTurn&) = delete;
};

}  // namespace millrace
