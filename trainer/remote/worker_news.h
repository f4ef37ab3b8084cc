// WorkerNews: what happened to workers, a line each for the trainer's log, and why some of them are not used. It has no
// clock of its own. Thread-safe.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/clock.h"
#include "millrace/core/threads/mutex.h"

namespace millrace {

class WorkerNews {
 public:
  // The line "worker ENDPOINT WHAT".
  void tell(const std::string& endpoint, std::string_view what);
  // The worker is not used. The line ends with `why`; it is left out if it would be the last one again, or the same one
  // within a minute.
  void tell_unused(const std::string& endpoint, std::string_view what, std::string_view why, Clock::time_point now);
  // The worker is used. Returns whether the last line said that it is not.
  bool end_unused(const std::string& endpoint);
  // Why workers are not used now; empty if all of them are.
  std::string reasons() const;
  // The lines since the last call.
  std::vector<std::string> take();

 private:
  struct Reason {
    std::string text;
    Clock::time_point told;
    bool stands = false;  // the worker is not used now
    bool said = false;    // a line says so
  };

  mutable Mutex mutex_;
  std::vector<std::string> lines_ MILLRACE_GUARDED_BY(mutex_);
  std::map<std::string, Reason> reasons_ MILLRACE_GUARDED_BY(mutex_);  // by endpoint
};

}  // namespace millrace
