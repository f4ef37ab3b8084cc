#include "millrace/input/files/read_ahead.h"

#include <algorithm>

namespace millrace {

namespace {

// 100 MB/s of waiting. With 200 MB/s, a cold local disk that stalls at times was taken for slow in one of twelve runs.
constexpr uint64_t kSlowNanosecondsPerByte = 10;
// The least that is asked for at once, so that not every read asks.
constexpr uint64_t kLeastAsked = uint64_t{1} << 20;

}  // namespace

ReadAhead::Range ReadAhead::after(uint64_t offset, uint64_t bytes, uint64_t waited_nanoseconds) {
  if (bytes < kLeastRead) return {};
  const uint64_t end = offset + bytes;
  const MutexLock lock(mutex_);
  if (offset == 0 && asked_ > end) {
    // Another pass begins, and the file may be in memory by now.
    slow_ = false;
    bytes_ = waited_ = asked_ = 0;
  }
  if (!slow_) {
    asked_ = std::max(asked_, end);
    bytes_ += bytes;
    waited_ += waited_nanoseconds;
    if (bytes_ < kTrial) return {};
    slow_ = waited_ > kSlowNanosecondsPerByte * bytes_;
    bytes_ = waited_ = 0;
    if (!slow_) return {};
  }
  const uint64_t begin = std::max(asked_, end);
  if (end + kAhead < begin + kLeastAsked) return {};
  asked_ = end + kAhead;
  return {begin, asked_};
}

}  // namespace millrace
