#include "millrace/core/kernels/batch_norm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "millrace/core/errors.h"

namespace millrace {
namespace {

class BatchNormKernel : public ::testing::Test {
 protected:
  // The moments of `rows` numbers around `middle`, one channel.
  std::pair<float, float> moments(int64_t rows, float middle) {
    BatchNormSpec spec{.rows = rows, .channels = 1};
    std::vector<float> x;
    for (int64_t row = 0; row < rows; ++row) x.push_back(middle + (row % 2 == 0 ? 0.5F : -0.5F));
    std::vector<std::byte> scratch(batch_norm_scratch(Device::cpu(), spec));
    float mean = 0, variance = 0;
    batch_moments(context_, spec, {x.data(), 1}, &mean, &variance, scratch.data());
    return {mean, variance};
  }

  Executor executor_{2};
  Context context_{Device::cpu(), executor_};
};

TEST_F(BatchNormKernel, IsExactFarFromZeroAndForManyRows) {
  for (const int64_t rows : {2, 16384, 16386, 1000000}) {
    const auto [mean, variance] = moments(rows, 4096);
    EXPECT_EQ(mean, 4096) << rows;
    EXPECT_EQ(variance, 0.25F) << rows;
  }
}

TEST_F(BatchNormKernel, RefusesWholeNumbers) {
  const BatchNormSpec spec{.rows = 1, .channels = 1, .dtype = DType::i32};
  EXPECT_THROW(batch_norm(context_, spec, {}, {}, {}), InternalError);
}

}  // namespace
}  // namespace millrace
