#include "millrace/input/files/descriptors.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace millrace {
namespace {

class Descriptors : public ::testing::Test {
 protected:
  Descriptors() { getrlimit(RLIMIT_NOFILE, &before_); }
  ~Descriptors() override { setrlimit(RLIMIT_NOFILE, &before_); }
  void limit(rlim_t most) const {
    rlimit few = before_;
    few.rlim_cur = most;
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  }

 private:
  rlimit before_ = {};
};

TEST_F(Descriptors, AreAsManyAsTheLimitSays) {
  limit(77);
  EXPECT_EQ(most_descriptors(), 77u);
}

// The most that had a turn at once, of 16 threads.
int most_turns() {
  std::atomic<int> now = 0, most = 0, all = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        const ReadingTurn turn;
        const int together = ++now;
        for (int seen = most; seen < together && !most.compare_exchange_weak(seen, together);) {
        }
        std::this_thread::yield();
        --now;
        ++all;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(all, 16 * 200) << "everyone has a turn at last";
  return most;
}

TEST_F(Descriptors, AQuarterOfThemIsForTasksThatRead) {
  limit(32);
  const int few = most_turns();
  EXPECT_GE(few, 2);
  EXPECT_LE(few, 8);
  limit(3);
  EXPECT_EQ(most_turns(), 1);
}

}  // namespace
}  // namespace millrace
