#include "millrace/core/kernels/images/channels.h"

#include <gtest/gtest.h>

#include <vector>

#include "millrace/core/errors.h"

namespace millrace {
namespace {

class Channels : public ::testing::Test {
 protected:
  template <class T>
  std::vector<T> sums(const ChannelSpec& spec, std::vector<T> images, std::vector<T> before, float alpha) {
    const std::vector<std::byte> scratch(channel_sum_scratch(Device::cpu(), spec));
    const Destination to = {.view = TensorView(before.data(), spec.dtype, Shape{spec.channels}),
                            .beta = 1,
                            .alpha = alpha == 1 ? nullptr : &alpha};
    channel_sum(context_, spec, images.data(), to, const_cast<std::byte*>(scratch.data()));
    return before;
  }

  Executor executor_{2};
  Context context_{Device::cpu(), executor_};
};

TEST_F(Channels, ByHand) {
  const ChannelSpec spec{.batch = 2, .channels = 3, .pixels = 2, .dtype = DType::f64};
  const std::vector<double> images = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  EXPECT_EQ(sums(spec, images, {0, 0, 0}, 1), (std::vector<double>{22, 26, 30}));
  EXPECT_EQ(sums(spec, images, {1, 2, 3}, -0.5), (std::vector<double>{-10, -11, -12}));
}

TEST_F(Channels, OfManyPixels) {
  const ChannelSpec spec{.batch = 7, .channels = 5, .pixels = 5000};
  std::vector<float> images(static_cast<size_t>(spec.batch * spec.channels * spec.pixels));
  for (size_t i = 0; i < images.size(); ++i) images[i] = static_cast<float>(2 + i % 5);
  EXPECT_EQ(sums(spec, images, {0, 0, 0, 0, 0}, 1), (std::vector<float>{70000, 105000, 140000, 175000, 210000}));
}

TEST_F(Channels, RefusesWholeNumbers) {
  int32_t value = 1;
  const Destination to = {.view = TensorView(&value, DType::i32, Shape{1})};
  EXPECT_THROW(channel_sum(context_, {1, 1, 1, DType::i32}, &value, to, nullptr), ShapeError);
}

}  // namespace
}  // namespace millrace
