#include "millrace/layers/optimizers/shared/adam_optimizer.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/layers/layer_run.h"

namespace millrace::testing {
namespace {

// The parameter 4 after its first update, by 0: weight decay of 0.5 alone moves it, at a rate of 0.1.
double after_first_update(WeightDecay decay, bool decays) {
  AdamOptions options;
  options.learning_rate = 0.1;
  options.weight_decay = 0.5;
  const AdamOptimizer optimizer(options, decay);
  double parameter = 4, gradient = 0;
  std::array<double, 2> means{};
  const auto view = [](double& value) { return TensorView(&value, DType::f64, Shape{1}); };
  const std::array<TensorView, 2> slots{view(means[0]), view(means[1])};
  std::vector<float> scalars(static_cast<size_t>(optimizer.scalar_count()));
  optimizer.scalars(0, scalars);
  Executor executor(1);
  Context context(Device::cpu(), executor);
  optimizer.update(context, {.parameters = view(parameter),
                             .gradients = view(gradient),
                             .slots = slots,
                             .scalars = scalars.data(),
                             .decay = decays});
  return parameter;
}

TEST(AdamOptimizer, CoupledDecayIsAGradientOfWhichOnlyTheSignCounts) {
  EXPECT_NEAR(after_first_update(WeightDecay::coupled, true), 4 - 0.1, 1e-7);
}

TEST(AdamOptimizer, DecoupledDecayShrinksTheParameter) {
  EXPECT_NEAR(after_first_update(WeightDecay::decoupled, true), 4 - 0.1 * 0.5 * 4, 1e-7);
}

TEST(AdamOptimizer, SparesWhatDoesNotDecay) {
  EXPECT_EQ(after_first_update(WeightDecay::coupled, false), 4);
  EXPECT_EQ(after_first_update(WeightDecay::decoupled, false), 4);
}

}  // namespace
}  // namespace millrace::testing
