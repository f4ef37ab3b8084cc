#include <gtest/gtest.h>

#include <cmath>

#include "tests/layers/optimizers/optimizer_run.h"
#include "tests/layers/optimizers/update_contract.h"

namespace millrace::testing {
namespace {

Spec options_of(double rate, double epsilon) { return Spec::map().set("learning_rate", rate).set("epsilon", epsilon); }

TEST(Adagrad, ByHand) {
  Executor executor(1);
  Context context(Device::cpu(), executor);
  OptimizerRun run(context, {.kind = "adagrad", .options = options_of(0.5, 3)}, {1});
  run.update({3});
  EXPECT_EQ(run.parameters()[0], 0.75);  // 0.5 * 3 / (3 + 3)
  run.update({4});
  EXPECT_EQ(run.parameters()[0], 0.5);  // 0.5 * 4 / (5 + 3)
  run.update({0});
  EXPECT_EQ(run.parameters()[0], 0.5);
  EXPECT_EQ(run.slot(0)[0], 25);
}

TEST(Adagrad, GoesAsPyTorch) {
  // torch.optim.Adagrad; see after_six_updates.
  expect_all_near(after_six_updates("adagrad", Spec::map()),
                  {1.005538469977263, -2.0017002630551444, 0.4936134813279169, 0.25003736067344134}, 1e-13);
  expect_all_near(after_six_updates("adagrad", options_of(0.1, 1e-3).set("weight_decay", 0.1)),
                  {0.9954599246426018, -1.9046641276151406, 0.41128945639579706, 0.2390036760357779}, 1e-13);
}

TEST(Adagrad, FollowsItsRule) {
  for (const double decay : {0.1, 0.0}) {
    Spec options = options_of(0.1, 1e-2).set("weight_decay", 0.1).set("schedule", bent_schedule());
    if (decay == 0) options.set("no_decay", "dense.*");
    expect_follows({.kind = "adagrad", .options = options},
                   [&](int update, double gradient, double& parameter, std::array<double, 2>& kept) {
                     gradient += decay * parameter;
                     kept[0] += gradient * gradient;
                     parameter -= bent_rate(0.1, update) * gradient / (std::sqrt(kept[0]) + 1e-2);
                   });
  }
}

TEST(Adagrad, KeepsTheContractOfUpdates) {
  EXPECT_TRUE(keeps_update_contract(*make_optimizer("adagrad", Spec::map())));
  EXPECT_TRUE(keeps_update_contract(*make_optimizer("adagrad", options_of(0.1, 1e-30).set("weight_decay", 0.1))));
}

TEST(Adagrad, IsNotFusedAndKeepsOneNumber) {
  EXPECT_FALSE(make_optimizer("adagrad", Spec::map())->adds_scaled_gradient());
  EXPECT_EQ(make_optimizer("adagrad", Spec::map())->state_slots(), 1);
  EXPECT_TRUE(make_optimizer("adagrad", Spec::map().set("weight_decay", 0.1))->decays("dense.bias"));
}

TEST(Adagrad, RefusesWhatMakesNoSense) {
  EXPECT_EQ(error_of_optimizer("adagrad", Spec::map().set("epsilon", 0)),
            "epsilon: expected at least 1e-30 and at most 1e+30, got 0");
  EXPECT_EQ(error_of_optimizer("adagrad", Spec::map().set("momentum", 0.9)),
            "unknown key momentum; the keys here are learning_rate, schedule, weight_decay, no_decay and epsilon");
}

}  // namespace
}  // namespace millrace::testing
