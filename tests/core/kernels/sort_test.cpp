#include "millrace/core/kernels/sort.h"

#include <gtest/gtest.h>

#include <vector>

namespace millrace {
namespace {

TEST(SortKeys, Ascend) {
  Executor executor(1);
  Context context(Device::cpu(), executor);
  const std::vector<uint64_t> from = {7, 0, UINT64_MAX, 7, 1};
  std::vector<uint64_t> to(from.size());
  EXPECT_EQ(sort_scratch(context.device(), 5), 0U);
  sort_keys(context, from.data(), to.data(), 5, nullptr);
  EXPECT_EQ(to, (std::vector<uint64_t>{0, 1, 7, 7, UINT64_MAX}));
}

}  // namespace
}  // namespace millrace
