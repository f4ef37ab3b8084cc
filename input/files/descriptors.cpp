#include "millrace/input/files/descriptors.h"

#include <sys/resource.h>

#include <algorithm>
#include <condition_variable>

#include "millrace/core/threads/mutex.h"

namespace millrace {

namespace {

Mutex turns_mutex;
std::condition_variable turn_given_back;
uint64_t turns_taken MILLRACE_GUARDED_BY(turns_mutex) = 0;

}  // namespace

uint64_t most_descriptors() {
  rlimit files = {};
  return getrlimit(RLIMIT_NOFILE, &files) == 0 ? files.rlim_cur : RLIM_INFINITY;
}

ReadingTurn::ReadingTurn() {
  const uint64_t most = std::max<uint64_t>(most_descriptors() / 4, 1);
  const MutexLock lock(turns_mutex);
  while (turns_taken >= most) turns_mutex.wait(turn_given_back);
  ++turns_taken;
}

ReadingTurn::~ReadingTurn() {
  {
    const MutexLock lock(turns_mutex);
    --turns_taken;
  }
  turn_given_back.notify_one();
}

}  // namespace millrace
