#include <gtest/gtest.h>

#include <cmath>

#include "tests/layers/optimizers/optimizer_run.h"
#include "tests/layers/optimizers/update_contract.h"

namespace millrace::testing {
namespace {

Spec options_of(double rate, double beta1, double beta2, double epsilon) {
  return Spec::map().set("learning_rate", rate).set("beta1", beta1).set("beta2", beta2).set("epsilon", epsilon);
}

TEST(Adam, ByHand) {
  Executor executor(1);
  Context context(Device::cpu(), executor);
  OptimizerRun run(context, {.kind = "adam", .options = options_of(0.25, 0.5, 0.75, 2)}, {1});
  run.update({2});
  EXPECT_EQ(run.slot(0)[0], 1);
  EXPECT_EQ(run.slot(1)[0], 1);
  // Of a gradient that stays, the corrected means are itself and its square: 0.25 * 2 / (2 + 2).
  EXPECT_EQ(run.parameters()[0], 0.875);
  run.update({2});
  EXPECT_EQ(run.slot(0)[0], 1.5);
  EXPECT_EQ(run.slot(1)[0], 1.75);
  EXPECT_NEAR(run.parameters()[0], 0.75, 1e-14);
  run.update({0});
  EXPECT_EQ(run.slot(0)[0], 0.75);
  EXPECT_EQ(run.slot(1)[0], 1.3125);
  EXPECT_NEAR(run.parameters()[0], 0.75 - 0.25 * (0.75 / 0.875) / (std::sqrt(1.3125 / 0.578125) + 2), 1e-14);
}

TEST(Adam, GoesAsPyTorch) {
  // torch.optim.Adam; see after_six_updates.
  expect_all_near(after_six_updates("adam", Spec::map()),
                  {1.0016553949963907, -2.0005498072977965, 0.49913751794553063, 0.24837102558034793}, 1e-13);
  expect_all_near(after_six_updates("adam", options_of(0.1, 0.8, 0.95, 1e-3).set("weight_decay", 0.1)),
                  {1.0230168889338487, -1.831180230899823, 0.35987556859686487, 0.10256304242483523}, 1e-13);
}

TEST(Adam, FollowsItsRule) {
  for (const double decay : {0.1, 0.0}) {
    Spec options = options_of(0.02, 0.8, 0.95, 1e-3).set("weight_decay", 0.1).set("schedule", bent_schedule());
    if (decay == 0) options.set("no_decay", "dense.*");
    expect_follows({.kind = "adam", .options = options},
                   [&](int update, double gradient, double& parameter, std::array<double, 2>& kept) {
                     gradient += decay * parameter;
                     kept[0] = 0.8 * kept[0] + 0.2 * gradient;
                     kept[1] = 0.95 * kept[1] + 0.05 * gradient * gradient;
                     const double mean = kept[0] / (1 - std::pow(0.8, update + 1));
                     const double square = kept[1] / (1 - std::pow(0.95, update + 1));
                     parameter -= bent_rate(0.02, update) * mean / (std::sqrt(square) + 1e-3);
                   });
  }
}

TEST(Adam, CorrectsLateUpdatesToo) {
  const auto optimizer = make_optimizer("adam", Spec::map());
  std::vector<float> scalars(static_cast<size_t>(optimizer->scalar_count()));
  const auto number = [&](size_t i) {
    return static_cast<double>(scalars[2 * i]) + static_cast<double>(scalars[2 * i + 1]);
  };
  for (const double step : {0.0, 1.0, 9.0, 999.0, 1e6}) {
    optimizer->scalars(static_cast<uint64_t>(step), scalars);
    const double rate = 0.001 / (1 - std::pow(0.9, step + 1)), root = 1 / std::sqrt(1 - std::pow(0.999, step + 1));
    EXPECT_NEAR(number(0), rate, 1e-12 * rate) << "update " << step;
    EXPECT_NEAR(number(1), root, 1e-12 * root) << "update " << step;
    // What float32 sees is the nearest float.
    EXPECT_EQ(scalars[0] + scalars[1], static_cast<float>(number(0)));
  }
}

TEST(Adam, KeepsTheContractOfUpdates) {
  EXPECT_TRUE(keeps_update_contract(*make_optimizer("adam", Spec::map())));
  EXPECT_TRUE(keeps_update_contract(*make_optimizer("adam", options_of(0.1, 0, 0, 1e-30).set("weight_decay", 0.1))));
}

TEST(Adam, IsNotFusedAndKeepsTwoNumbers) {
  const auto optimizer = make_optimizer("adam", Spec::map());
  EXPECT_FALSE(optimizer->adds_scaled_gradient());
  EXPECT_EQ(optimizer->state_slots(), 2);
  EXPECT_FALSE(optimizer->decays("dense.weight"));
}

TEST(Adam, RefusesWhatMakesNoSense) {
  const auto error_of = [](const char* key, auto value) {
    return error_of_optimizer("adam", Spec::map().set(key, value));
  };
  EXPECT_EQ(error_of("learning_rate", 0), "learning_rate: expected at least 1e-30 and at most 1e+18, got 0");
  EXPECT_EQ(error_of("beta1", 1), "beta1: expected at least 0 and less than 1, got 1");
  EXPECT_EQ(error_of("beta1", -0.1), "beta1: expected at least 0 and less than 1, got -0.1");
  EXPECT_EQ(error_of("beta2", 1.5), "beta2: expected at least 0 and less than 1, got 1.5");
  EXPECT_EQ(error_of("beta2", std::nan("")), "beta2: expected at least 0 and less than 1, got .nan");
  EXPECT_EQ(error_of("epsilon", 0), "epsilon: expected at least 1e-30 and at most 1e+30, got 0");
  EXPECT_EQ(error_of("weight_decay", -1), "weight_decay: expected at least 0 and at most 1e+18, got -1");
  EXPECT_EQ(error_of("betas", 1), "unknown key betas; did you mean beta1?");
}

}  // namespace
}  // namespace millrace::testing
