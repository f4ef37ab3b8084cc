#include "millrace/core/kernels/image_sums.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/support/host_launcher.h"

namespace millrace::cuda {
namespace {

constexpr test::HostLauncher kOnHost;

TEST(ImageSums, GoOverAllImagesOfAChannel) {
  // Two images of two channels and three pixels, two values between them.
  const std::vector<double> x = {1, 2, 3, 10, 20, 30, -1, -1, 4, 5, 6, 40, 50, 60},
                            dy = {1, 0, 2, 1, 1, 1, -1, -1, 0, 1, 0, 0, 0, 2}, mean = {3, 30};
  PartSums<double> sums{.places = {2, 2, 3}, .x = x.data(), .x_stride = 8, .dy = dy.data(), .dy_stride = 8};
  sums.mean = mean.data();
  std::vector<std::byte> scratch(channel_sums_scratch(sums.places));
  const auto run = [&](SumOf what) {
    sums.what = what;
    return sum_channels(sums, scratch.data(), kOnHost);
  };
  EXPECT_EQ(run(SumOf::values).of(0).first, 21);
  EXPECT_EQ(run(SumOf::values).of(1).first, 210);
  EXPECT_EQ(run(SumOf::squares).of(0).first, 4 + 1 + 0 + 1 + 4 + 9);
  EXPECT_EQ(run(SumOf::slopes).of(0).first, 4);
  EXPECT_EQ(run(SumOf::slopes).of(0).second, 1 * -2 + 2 * 0 + 1 * 2);
  EXPECT_EQ(run(SumOf::slopes).of(1).first, 5);
  EXPECT_EQ(run(SumOf::slopes).of(1).second, -20 - 10 + 0 + 2 * 30);
}

// Every value once, wherever blocks end.
TEST(ImageSums, CountEveryValueOnce) {
  const std::pair<int64_t, int64_t> shapes[] = {
      {1, 1},       {kSumBlock - 1, 1}, {kSumBlock, 1},    {2 * kSumBlock + 77, 1},
      {5, 77},      {130, 64},          {3, 5000},         {kSumBlocks * 3 + 1, 4100},
      {1, 1000001}, {3, 100003},        {1, kSumBlock + 1}};
  for (const auto& [batch, pixels] : shapes) {
    const int64_t count = batch * pixels;
    const std::vector<float> ones(static_cast<size_t>(3 * count), 1);
    const PartSums<float> sums{.places = {batch, 3, pixels}, .x = ones.data(), .x_stride = 3 * pixels};
    std::vector<std::byte> scratch(channel_sums_scratch(sums.places));
    const ChannelTotals totals = sum_channels(sums, scratch.data(), kOnHost);
    for (int64_t channel = 0; channel < 3; ++channel) {
      EXPECT_EQ(totals.of(channel).first, static_cast<double>(count)) << batch << " x " << pixels;
    }
  }
}

}  // namespace
}  // namespace millrace::cuda
