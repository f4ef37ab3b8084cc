#include "millrace/core/context.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "millrace/core/errors.h"

namespace millrace {
namespace {

TEST(Context, OfTheCpuCopiesAndFills) {
  Executor executor(1);
  Context context(Device::cpu(), executor);
  EXPECT_TRUE(context.device().is_cpu());
  EXPECT_EQ(&context.executor(), &executor);
  const std::vector<int32_t> source = {1, 2, 3, 4};
  std::vector<int32_t> destination(4, 9);
  context.copy(destination.data(), source.data(), 3 * sizeof(int32_t));
  EXPECT_EQ(destination, (std::vector<int32_t>{1, 2, 3, 9}));
  context.fill_zero(destination.data() + 1, 2 * sizeof(int32_t));
  EXPECT_EQ(destination, (std::vector<int32_t>{1, 0, 0, 9}));
  context.synchronize();
}

TEST(Context, TakesNullForNoBytes) {
  Executor executor(1);
  Context context(Device::cpu(), executor);
  context.copy(nullptr, nullptr, 0);
  context.copy_async(nullptr, nullptr, 0);
  context.fill_zero(nullptr, 0);
}

TEST(Context, RefusesADeviceThatIsNotThere) {
  Executor executor(1);
  EXPECT_THROW(Context(Device::cuda(9999), executor), DeviceError);
}

}  // namespace
}  // namespace millrace
