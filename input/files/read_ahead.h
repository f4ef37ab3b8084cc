// ReadAhead: what to ask the system for behind the reads of one file, where they are slow.
//
// The system reads ahead by itself, better than advice does, as long as it looks far enough. On storage that answers
// late it often does not: what is under way at once is then so little that the file comes at a trickle, however fast
// the storage is. So the rate of reading is watched, and only a file that comes slowly is asked for ahead. When and
// what is asked for changes no byte that is read. Thread-safe.
#pragma once

#include <cstdint>

#include "millrace/core/mutex.h"

namespace millrace {

class ReadAhead {
 public:
  // How far: at 10 ms an answer, enough for 1.6 GB/s.
  static constexpr uint64_t kAhead = uint64_t{16} << 20;
  // Less is a single row, not a file that is read from end to end, and counts for nothing.
  static constexpr uint64_t kLeastRead = 65536;
  // So much is judged together: one late answer means nothing. A smaller file is over by then.
  static constexpr uint64_t kTrial = uint64_t{4} << 20;

  struct Range {
    uint64_t begin = 0, end = 0;
    bool empty() const { return begin == end; }
  };

  // [offset, offset + bytes) were read, for which a thread waited so long, its share of what all reads beside it
  // waited; what it worked, copying, says nothing of the storage. Returns what should be asked for now; mostly nothing.
  Range after(uint64_t offset, uint64_t bytes, uint64_t waited_nanoseconds);

 private:
  Mutex mutex_;
  // Of the reads that are judged together.
  uint64_t bytes_ MILLRACE_GUARDED_BY(mutex_) = 0, waited_ MILLRACE_GUARDED_BY(mutex_) = 0;
  bool slow_ MILLRACE_GUARDED_BY(mutex_) = false;
  // The end of what was asked for, or of the furthest read.
  uint64_t asked_ MILLRACE_GUARDED_BY(mutex_) = 0;
};

}  // namespace millrace
