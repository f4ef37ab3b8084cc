#include <gtest/gtest.h>

#include <cmath>

#include "tests/layers/optimizers/optimizer_run.h"
#include "tests/layers/optimizers/update_contract.h"

namespace millrace::testing {
namespace {

Spec options_of(double rate, double beta1, double beta2, double epsilon) {
  return Spec::map().set("learning_rate", rate).set("beta1", beta1).set("beta2", beta2).set("epsilon", epsilon);
}

TEST(AdamW, ByHand) {
  Executor executor(1);
  Context context(Device::cpu(), executor);
  const Spec options = options_of(0.25, 0.5, 0.75, 2).set("weight_decay", 0.5);
  OptimizerRun run(context, {.kind = "adamw", .options = options}, {1});
  // Each keeps 1 - 0.25 * 0.5 of the parameter and takes 0.25 * 2 / (2 + 2) from it.
  run.update({2});
  EXPECT_EQ(run.parameters()[0], 0.75);
  run.update({2});
  EXPECT_NEAR(run.parameters()[0], 0.53125, 1e-14);
  // The means know nothing of the decay.
  EXPECT_EQ(run.slot(0)[0], 1.5);
  EXPECT_EQ(run.slot(1)[0], 1.75);
}

TEST(AdamW, GoesAsPyTorch) {
  // torch.optim.AdamW; see after_six_updates.
  expect_all_near(after_six_updates("adamw", Spec::map()),
                  {1.0015953217409623, -2.0004298248379664, 0.4991075592610215, 0.24835610530127963}, 1e-13);
  expect_all_near(after_six_updates("adamw", options_of(0.1, 0.8, 0.95, 1e-3).set("weight_decay", 0.1)),
                  {1.073524227184462, -1.9457389327070622, 0.3922131122928404, 0.10995007321101882}, 1e-13);
}

TEST(AdamW, FollowsItsRule) {
  for (const double decay : {0.1, 0.0}) {
    Spec options = options_of(0.02, 0.8, 0.95, 1e-3).set("weight_decay", 0.1).set("schedule", bent_schedule());
    if (decay == 0) options.set("no_decay", "dense.*");
    expect_follows({.kind = "adamw", .options = options},
                   [&](int update, double gradient, double& parameter, std::array<double, 2>& kept) {
                     const double rate = bent_rate(0.02, update);
                     kept[0] = 0.8 * kept[0] + 0.2 * gradient;
                     kept[1] = 0.95 * kept[1] + 0.05 * gradient * gradient;
                     const double mean = kept[0] / (1 - std::pow(0.8, update + 1));
                     const double square = kept[1] / (1 - std::pow(0.95, update + 1));
                     parameter -= rate * decay * parameter;
                     parameter -= rate * mean / (std::sqrt(square) + 1e-3);
                   });
  }
}

TEST(AdamW, KeepsTheContractOfUpdates) {
  EXPECT_TRUE(keeps_update_contract(*make_optimizer("adamw", Spec::map())));
  EXPECT_TRUE(keeps_update_contract(*make_optimizer("adamw", options_of(0.1, 0, 0, 1e-30).set("weight_decay", 0.1))));
}

TEST(AdamW, DecaysByDefault) {
  EXPECT_TRUE(make_optimizer("adamw", Spec::map())->decays("dense.weight"));
  EXPECT_FALSE(make_optimizer("adamw", Spec::map().set("weight_decay", 0))->decays("dense.weight"));
  EXPECT_FALSE(make_optimizer("adamw", Spec::map().set("no_decay", "*.bias"))->decays("dense.bias"));
  EXPECT_FALSE(make_optimizer("adamw", Spec::map())->adds_scaled_gradient());
  EXPECT_EQ(make_optimizer("adamw", Spec::map())->state_slots(), 2);
}

TEST(AdamW, ItsNumbersAreFloatsAtTheGreatestRate) {
  const double below_one = std::nextafter(1.0, 0.0);
  const auto optimizer =
      make_optimizer("adamw", options_of(1e18, below_one, below_one, 1e-30).set("weight_decay", 1e18));
  std::vector<float> scalars(static_cast<size_t>(optimizer->scalar_count()));
  optimizer->scalars(0, scalars);
  for (const float scalar : scalars) EXPECT_TRUE(std::isfinite(scalar)) << scalar;
}

TEST(AdamW, RefusesWhatMakesNoSense) {
  const auto error_of = [](const char* key, auto value) {
    return error_of_optimizer("adamw", Spec::map().set(key, value));
  };
  EXPECT_EQ(error_of("beta2", 1), "beta2: expected at least 0 and less than 1, got 1");
  EXPECT_EQ(error_of("learning_rate", 1e30), "learning_rate: expected at least 1e-30 and at most 1e+18, got 1e+30");
  EXPECT_EQ(error_of("weight_decay", 1e30), "weight_decay: expected at least 0 and at most 1e+18, got 1e+30");
  EXPECT_EQ(error_of("epsilon", -1), "epsilon: expected at least 1e-30 and at most 1e+30, got -1");
  EXPECT_EQ(error_of("weight_decay", std::nan("")), "weight_decay: expected at least 0 and at most 1e+18, got .nan");
}

}  // namespace
}  // namespace millrace::testing
