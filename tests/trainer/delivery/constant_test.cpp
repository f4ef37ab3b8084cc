#include <gtest/gtest.h>

#include <cstring>

#include "millrace/trainer/delivery/kinds.h"
#include "tests/trainer/delivery/watched_graph.h"

namespace millrace {
namespace {

TEST(ConstantDelivery, GivesTheFirstBatchAgainAndAgain) {
  Executor executor(2);
  int made = 0;
  const auto delivery = make_constant(testing::batches_watched([&](Chunk&) { ++made; }), {.executor = executor});
  const RowBlock* first = delivery->next();
  ASSERT_NE(first, nullptr);
  EXPECT_TRUE(delivery->repeats());
  const RowId id = first->id(3);
  for (int i = 0; i < 50; ++i) ASSERT_EQ(delivery->next(), first);
  EXPECT_EQ(first->id(3), id);
  EXPECT_EQ(made, 1);
  EXPECT_EQ(delivery->summary().batches, 51u);
  EXPECT_EQ(delivery->summary().rows, 204u);
  EXPECT_EQ(delivery->share(), std::nullopt);
  delivery->stop();
  EXPECT_EQ(delivery->next(), nullptr);
}

TEST(ConstantDelivery, EndsAtOnceWithoutData) {
  Executor executor(2);
  const auto delivery = make_constant(
      testing::watched_graph("- synthetic: {features: 3, rows: 3}\n- batch: {batch_size: 4}\n", [](Chunk&) {}, {}),
      {.executor = executor});
  EXPECT_EQ(delivery->next(), nullptr);
  EXPECT_EQ(delivery->next(), nullptr);
  EXPECT_EQ(delivery->summary().batches, 0u);
}

TEST(ConstantDelivery, GoesOnWithTheSameBatch) {
  Executor executor(2);
  const auto make = [&](bool saves) {
    return make_constant(testing::batches_watched([](Chunk&) {}), {.executor = executor, .saves = saves});
  };
  const auto saved = make(true), restored = make(true), without = make(false);
  const RowBlock* batch = saved->next();
  saved->next();
  restored->restore(saved->save());
  const RowBlock* again = restored->next();
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(again->id(0), batch->id(0));
  EXPECT_EQ(std::memcmp(again->at(0, 0), batch->at(0, 0), 3 * sizeof(float)), 0);
  without->next();
  EXPECT_THROW(without->save(), InternalError);
}

TEST(ConstantDelivery, SaysThatItIsForMeasuring) {
  Executor executor(1);
  const auto delivery = make_constant(testing::batches_watched([](Chunk&) {}), {.executor = executor});
  ASSERT_EQ(delivery->warnings().size(), 1u);
  EXPECT_EQ(delivery->warnings()[0],
            "delivery constant trains only on the first batch, again and again: it is for measuring");
}

}  // namespace
}  // namespace millrace
