#include "millrace/core/free_names.h"

#include <gtest/gtest.h>

#include <chrono>

namespace millrace {
namespace {

TEST(FreeNames, TakesTheFirstThatIsFree) {
  FreeNames names;
  EXPECT_TRUE(names.take("dense_2"));
  EXPECT_FALSE(names.take("dense_2"));
  EXPECT_EQ(names.give("dense"), "dense");
  EXPECT_EQ(names.give("dense"), "dense_3");
  EXPECT_EQ(names.give("relu"), "relu");
  EXPECT_TRUE(names.take("dense_4"));
  EXPECT_EQ(names.give("dense"), "dense_5");
  EXPECT_EQ(names.give("dense_2"), "dense_2_2");
  EXPECT_FALSE(names.take("dense_5"));
}

TEST(FreeNames, TakesNoLongerForManyNames) {
  constexpr int kNames = 200000;  // tried one by one from the first, 2 * 10^10 names
  const auto start = std::chrono::steady_clock::now();
  FreeNames names;
  for (int i = 0; i < kNames - 1; ++i) names.give("queue");
  EXPECT_EQ(names.give("queue"), "queue_200000");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

}  // namespace
}  // namespace millrace
