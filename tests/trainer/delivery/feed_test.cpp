#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "millrace/trainer/delivery/kinds.h"
#include "tests/trainer/delivery/watched_graph.h"

namespace millrace {
namespace {

TEST(FeedDelivery, MakesEveryBatchOnTheThreadThatAsksForIt) {
  Executor executor(3);
  std::set<std::thread::id> threads;  // of one thread, else this is a race
  const auto delivery = make_feed(testing::chunks_watched([&](Chunk&) { threads.insert(std::this_thread::get_id()); }),
                                  {.executor = executor});
  while (delivery->next() != nullptr) {
  }
  EXPECT_EQ(threads, std::set{std::this_thread::get_id()});
  const DeliveryStatistics statistics = delivery->statistics();
  EXPECT_GT(statistics.times.make_seconds, 0);
  EXPECT_GT(statistics.times.copy_seconds, 0);
  EXPECT_EQ(statistics.times.wait_seconds, 0);
  EXPECT_FALSE(statistics.mean_queued);
}

TEST(FeedDelivery, MakesNoBatchBeforeItIsAskedFor) {
  Executor executor(3);
  int made = 0;
  const auto delivery = make_feed(testing::batches_watched([&](Chunk&) { ++made; }), {.executor = executor});
  for (int i = 1; i <= 10; ++i) {
    ASSERT_NE(delivery->next(), nullptr);
    EXPECT_EQ(made, i);
  }
}

}  // namespace
}  // namespace millrace
