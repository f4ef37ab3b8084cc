// StopGate: what any thread may stop, while the thread that owns it may be ending it.
//
//   gate_.open([&] { pipeline.cancel(); });
//   ...              // other threads call gate_.stop()
//   gate_.close();   // no thread is inside pipeline.cancel() any more, and none will be
//
// What stops may call functions of the program, and these may call stop() again: no lock is held meanwhile.
#pragma once

#include <condition_variable>
#include <functional>

#include "millrace/core/threads/mutex.h"

namespace millrace {

class StopGate {
 public:
  // stop() calls `stop`, which must not throw, from now on. REQUIRES: the gate is closed, as it is at first.
  void open(std::function<void()> stop);
  // Waits until every call of stop() has ended; later ones do nothing. REQUIRES: not called from inside stop().
  void close() noexcept;
  // From any thread.
  void stop() noexcept;

 private:
  Mutex mutex_;
  bool open_ MILLRACE_GUARDED_BY(mutex_) = false;
  int inside_ MILLRACE_GUARDED_BY(mutex_) = 0;
  std::condition_variable left_;
  std::function<void()> stop_;  // constant while the gate is open or a thread is inside
};

}  // namespace millrace
