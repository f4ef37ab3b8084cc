#include "millrace/core/kernels/slot_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace millrace::cpu {
namespace {

TEST(SlotPool, LendsEachSlotOnce) {
  SlotPool pool(3);
  const SlotPool::Lease a(pool), b(pool);
  EXPECT_NE(a.slot(), b.slot());
  size_t third = 0;
  {
    const SlotPool::Lease c(pool);
    third = c.slot();
    EXPECT_EQ(a.slot() + b.slot() + c.slot(), 3u);
  }
  EXPECT_EQ(SlotPool::Lease(pool).slot(), third);
}

TEST(SlotPool, KeepsThreadsApart) {
  constexpr int kThreads = 4;
  SlotPool pool(kThreads);
  std::vector<int> counts(kThreads);  // each element is touched by the lessee of its slot alone
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) ++counts[SlotPool::Lease(pool).slot()];
    });
  }
  for (std::thread& thread : threads) thread.join();
  int total = 0;
  for (const int count : counts) total += count;
  EXPECT_EQ(total, kThreads * 5000);
}

}  // namespace
}  // namespace millrace::cpu
