#include "millrace/input/run/reuse_stack.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(ReuseStack, GivesTheUnusedFirstAndThenTheLastOneIn) {
  int items[3] = {};
  ReuseStack<int> stack;
  EXPECT_TRUE(stack.empty());
  for (int& item : items) stack.add(&item, 3);
  int* first = stack.take();
  EXPECT_EQ(first, &items[2]);
  stack.give(first);
  int* second = stack.take();
  EXPECT_EQ(second, &items[1]);
  stack.give(second);
  EXPECT_EQ(stack.take(), &items[0]);
  EXPECT_EQ(stack.take(), second);
  EXPECT_EQ(stack.take(), first);
  EXPECT_TRUE(stack.empty());
  stack.give(first);
  EXPECT_EQ(stack.take(), first);
}

}  // namespace
}  // namespace millrace
