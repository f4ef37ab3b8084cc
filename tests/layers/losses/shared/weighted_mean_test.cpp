#include "millrace/layers/losses/elementwise_loss.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/layers/layer_run.h"

namespace millrace::testing {
namespace {

struct Mean {
  double mean, weight;
  std::vector<double> shares;  // of each row's slope in the gradient
};

// Of three rows with two terms each: 1 and 2, 3 and 4, 5 and 6, each times its row's weight.
Mean mean_of(const std::vector<double>& weights) {
  const bool weighted = !weights.empty();
  Tensor prediction(Device::cpu(), {Shape{3, 2}, DType::f64}), weight(Device::cpu(), {Shape{3, 1}, DType::f32});
  if (weighted) write_values(weight.view(), weights);
  Executor executor(2);
  Context context(Device::cpu(), executor);
  const WeightedMean mean({.prediction = prediction.view(), .label = {}, .weighted = weighted}, 2);
  const Memory scratch(Device::cpu(), mean.scratch_bytes());
  double loss[2] = {-1, -1};
  Mean out;
  const LossArgs args{.prediction = prediction.view(),
                      .label = {},
                      .weight = weighted ? ConstTensorView(weight.view()) : ConstTensorView(),
                      .loss = loss,
                      .gradient = {},
                      .scratch = scratch.data()};
  mean.run<double>(context, args, [&](const RowShares<double>& shares, double* terms) {
    for (int64_t row = 0; row < 3; ++row) {
      const double w = shares.weight_of(row);
      out.shares.push_back(shares.share_of(w));
      for (int64_t term = 0; term < 2; ++term) {
        terms[2 * row + term] = w * static_cast<double>(2 * row + term + 1);
      }
    }
  });
  out.mean = loss[0];
  out.weight = loss[1];
  return out;
}

TEST(WeightedMean, CountsAllRowsAlikeWithoutWeights) {
  const Mean found = mean_of({});
  EXPECT_DOUBLE_EQ(found.mean, 21.0 / 6);
  EXPECT_EQ(found.weight, 3);
  for (const double share : found.shares) EXPECT_DOUBLE_EQ(share, 1.0 / 6);
}

TEST(WeightedMean, DividesByTheSumOfTheWeights) {
  const Mean found = mean_of({1, 0, 3});
  EXPECT_DOUBLE_EQ(found.mean, (1 * (1 + 2) + 3 * (5 + 6)) / (2 * 4.0));
  EXPECT_EQ(found.weight, 4);
  EXPECT_EQ(found.shares, (std::vector<double>{1 / 8.0, 0, 3 / 8.0}));
}

TEST(WeightedMean, OfRowsThatDoNotCountIsZero) {
  const Mean found = mean_of({0, 0, 0});
  EXPECT_EQ(found.mean, 0);
  EXPECT_EQ(found.weight, 0);
}

}  // namespace
}  // namespace millrace::testing
