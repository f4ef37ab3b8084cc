#include "millrace/input/files/descriptors.h"

#include <sys/resource.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>

namespace millrace {

namespace {

std::mutex turns_mutex;
std::condition_variable turn_given_back;
uint64_t turns_taken = 0;  // guarded by turns_mutex

}  // namespace

uint64_t most_descriptors() {
  rlimit files = {};
  return getrlimit(RLIMIT_NOFILE, &files) == 0 ? files.rlim_cur : RLIM_INFINITY;
}

ReadingTurn::ReadingTurn() {
  const uint64_t most = std::max<uint64_t>(most_descriptors() / 4, 1);
  std::unique_lock lock(turns_mutex);
  turn_given_back.wait(lock, [most] { return turns_taken < most; });
  ++turns_taken;
}

ReadingTurn::~ReadingTurn() {
  {
    const std::lock_guard lock(turns_mutex);
    --turns_taken;
  }
  turn_given_back.notify_one();
}

}  // namespace millrace
