// ReadAhead: says which bytes of a file to ask the system for in advance, if reading that file is slow.
//
// The system reads ahead by itself, and does it better than advice can, as long as it looks far enough ahead. On
// storage that answers late it often does not: so few bytes are then requested at a time that the file comes slowly,
// however fast the storage is. So this class watches the rate of reading, and asks ahead only for a file that comes
// slowly. The bytes that are read do not depend on it. Thread-safe.
#pragma once

#include <cstdint>

#include "millrace/core/threads/mutex.h"

namespace millrace {

class ReadAhead {
 public:
  // How many bytes ahead. If an answer takes 10 ms, this is enough for 1.6 GB/s.
  static constexpr uint64_t kAhead = uint64_t{16} << 20;
  // A smaller read is not counted: it is a single row, not part of a file that is read from end to end.
  static constexpr uint64_t kLeastRead = 65536;
  // This many bytes are judged together, because one late answer means nothing. A smaller file ends before it is
  // judged.
  static constexpr uint64_t kTrial = uint64_t{4} << 20;

  struct Range {
    uint64_t begin = 0, end = 0;
    bool empty() const { return begin == end; }
  };

  // Says that [offset, offset + bytes) was read, and how long the thread waited for it. The wait is divided by the
  // number of reads under way at the same time, since they share the storage. It leaves out the time that the thread
  // worked (copying), which says nothing about the storage. Returns the range to ask for now; mostly an empty one.
  Range after(uint64_t offset, uint64_t bytes, uint64_t waited_nanoseconds);

 private:
  Mutex mutex_;
  // Sums over the reads that are judged together.
  uint64_t bytes_ MILLRACE_GUARDED_BY(mutex_) = 0, waited_ MILLRACE_GUARDED_BY(mutex_) = 0;
  bool slow_ MILLRACE_GUARDED_BY(mutex_) = false;
  // The end of what was asked for, or of the furthest read, if that is more.
  uint64_t asked_ MILLRACE_GUARDED_BY(mutex_) = 0;
};

}  // namespace millrace
