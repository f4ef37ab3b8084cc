#include "millrace/cli/serve/byte_budget.h"

#include <gtest/gtest.h>

namespace millrace::cli {
namespace {

TEST(ByteBudget, GivesNoMoreThanItHas) {
  ByteBudget budget(10);
  {
    BudgetShare first(&budget);
    EXPECT_TRUE(first.add(6));
    BudgetShare second(&budget);
    EXPECT_FALSE(second.add(5));
    EXPECT_TRUE(second.add(4));
    EXPECT_EQ(budget.held(), 10u);
    first.give(5);
    EXPECT_EQ(budget.held(), 5u);
    first = std::move(second);
    EXPECT_TRUE(first.add(5));
  }
  EXPECT_EQ(budget.held(), 0u);
}

}  // namespace
}  // namespace millrace::cli
