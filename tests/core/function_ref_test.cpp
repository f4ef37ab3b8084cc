#include "millrace/core/threads/executor.h"

#include <gtest/gtest.h>

#include <memory>
#include <type_traits>

namespace millrace {
namespace {

int apply(FunctionRef<int(int)> function, int x) { return function(x); }

TEST(FunctionRef, CallsWhatItRefersTo) {
  int calls = 0;
  const auto count = [&](int x) {
    ++calls;
    return x + 1;
  };
  EXPECT_EQ(apply(count, 4), 5);
  EXPECT_EQ(apply([](int x) { return -x; }, 4), -4);
  EXPECT_EQ(calls, 1);
}

TEST(FunctionRef, ChangesStateOfTheOriginal) {
  auto counter = [n = 0](int x) mutable { return n += x; };
  EXPECT_EQ(apply(counter, 2), 2);
  EXPECT_EQ(apply(counter, 3), 5);
}

TEST(FunctionRef, PassesReferencesAndMoveOnlyArguments) {
  int value = 1;
  FunctionRef<void(int&)> set = [](int& x) { x = 7; };
  set(value);
  EXPECT_EQ(value, 7);
  const auto take = [](std::unique_ptr<int> x) { return *x; };
  const FunctionRef<int(std::unique_ptr<int>)> taken = take;
  EXPECT_EQ(taken(std::make_unique<int>(9)), 9);
}

TEST(FunctionRef, TakesOnlyWhatFits) {
  const auto text = [](const char*) { return 0; };
  EXPECT_FALSE((std::is_constructible_v<FunctionRef<int(int)>, decltype(text)&>));
  EXPECT_FALSE((std::is_constructible_v<FunctionRef<int(int)>, int (&)(int)>));
  EXPECT_EQ(sizeof(FunctionRef<int(int)>), 2 * sizeof(void*));
}

}  // namespace
}  // namespace millrace
