#include "millrace/layers/norms/group_plan.h"

#include <gtest/gtest.h>

#include <vector>

namespace millrace {
namespace {

// The same values in both orders, normalised in mode predict.
TEST(GroupPlan, ReadsChannelsInEitherOrder) {
  Executor executor(2);
  Context context(Device::cpu(), executor);
  const std::vector<double> in_order = {1, 2, 3, 10, 20, 60, -1, 0, 4, 7, 8, 9}, weight = {1, 2, 3, 4},
                            bias = {0, 1, 0, 1};
  std::vector<double> last(12), y(12), y_last(12);
  for (size_t c = 0; c < 4; ++c) {
    for (size_t p = 0; p < 3; ++p) last[p * 4 + c] = in_order[c * 3 + p];
  }
  const Shape batch{1, 4, 1, 3};
  const ConstTensorView params[] = {{weight.data(), DType::f64, Shape{4}}, {bias.data(), DType::f64, Shape{4}}};
  for (const bool channels_last : {false, true}) {
    const TensorView output((channels_last ? y_last : y).data(), DType::f64, batch);
    PlanArgs args;
    args.output = output;
    args.mode = Mode::predict;
    const auto plan = plan_group_norm(args, {.channels = 4, .pixels = 3, .groups = 2, .channels_last = channels_last});
    EXPECT_EQ(plan->saved_bytes(), 0u);
    const ConstTensorView inputs[] = {{(channels_last ? last : in_order).data(), DType::f64, batch}};
    ForwardArgs forward;
    forward.inputs = inputs;
    forward.params = params;
    forward.output = output;
    plan->forward(context, forward);
  }
  for (size_t c = 0; c < 4; ++c) {
    for (size_t p = 0; p < 3; ++p) EXPECT_NEAR(y_last[p * 4 + c], y[c * 3 + p], 1e-14);
  }
  EXPECT_NE(y[0], 0);
}

}  // namespace
}  // namespace millrace
