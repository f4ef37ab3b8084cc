#include "millrace/input/graph/descriptors.h"

#include <sys/resource.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>

namespace millrace {

namespace {

std::mutex mutex;
std::condition_variable given_back;
uint64_t taken = 0;  // guarded by mutex

}  // namespace

uint64_t most_descriptors() {
  rlimit files = {};
  return getrlimit(RLIMIT_NOFILE, &files) == 0 ? files.rlim_cur : RLIM_INFINITY;
}

ReadingTurn::ReadingTurn() {
  const uint64_t most = std::max<uint64_t>(most_descriptors() / 4, 1);
  std::unique_lock lock(mutex);
  given_back.wait(lock, [most] { return taken < most; });
  ++taken;
}

ReadingTurn::~ReadingTurn() {
  {
    const std::lock_guard lock(mutex);
    --taken;
  }
  given_back.notify_one();
}

}  // namespace millrace
