#include <gtest/gtest.h>

#include <cmath>

#include "tests/layers/optimizers/optimizer_run.h"
#include "tests/layers/optimizers/update_contract.h"

namespace millrace::testing {
namespace {

Spec options_of(double rate, double rho, double epsilon, double momentum) {
  return Spec::map().set("learning_rate", rate).set("rho", rho).set("epsilon", epsilon).set("momentum", momentum);
}

TEST(RmsProp, ByHand) {
  Executor executor(1);
  Context context(Device::cpu(), executor);
  // The mean of the squares is 1 after each: 0.25 * 4, then 0.75 * 1 + 0.25 * 1.
  OptimizerRun plain(context, {.kind = "rmsprop", .options = options_of(0.5, 0.75, 1, 0)}, {1});
  plain.update({2});
  EXPECT_EQ(plain.parameters()[0], 0.5);
  plain.update({1});
  EXPECT_EQ(plain.parameters()[0], 0.25);
  EXPECT_EQ(plain.slot(0)[0], 1);

  OptimizerRun moved(context, {.kind = "rmsprop", .options = options_of(0.5, 0.75, 1, 0.5)}, {1});
  moved.update({2});
  EXPECT_EQ(moved.parameters()[0], 0.5);
  moved.update({1});
  EXPECT_EQ(moved.parameters()[0], 0);
  EXPECT_EQ(moved.slot(1)[0], 1);
}

TEST(RmsProp, GoesAsPyTorch) {
  // torch.optim.RMSprop; see after_six_updates.
  expect_all_near(after_six_updates("rmsprop", Spec::map()),
                  {1.0554057306569, -2.017279624119039, 0.4360460365846547, 0.25122648050061774}, 1e-13);
  expect_all_near(after_six_updates("rmsprop", options_of(0.1, 0.9, 1e-3, 0.9).set("weight_decay", 0.1)),
                  {1.1150882562248807, -1.0370147352552765, -0.3916550220308096, -0.41508779590891215}, 1e-12);
}

TEST(RmsProp, FollowsItsRule) {
  for (const double momentum : {0.0, 0.9}) {
    for (const double decay : {0.1, 0.0}) {
      Spec options = options_of(0.01, 0.9, 1e-2, momentum).set("weight_decay", 0.1).set("schedule", bent_schedule());
      if (decay == 0) options.set("no_decay", "dense.*");
      expect_follows({.kind = "rmsprop", .options = options},
                     [&](int update, double gradient, double& parameter, std::array<double, 2>& kept) {
                       gradient += decay * parameter;
                       kept[0] = 0.9 * kept[0] + 0.1 * gradient * gradient;
                       kept[1] = momentum * kept[1] + gradient / (std::sqrt(kept[0]) + 1e-2);
                       parameter -= bent_rate(0.01, update) * kept[1];
                     });
    }
  }
}

TEST(RmsProp, KeepsTheContractOfUpdates) {
  EXPECT_TRUE(keeps_update_contract(*make_optimizer("rmsprop", Spec::map())));
  const Spec options = options_of(0.1, 0, 1e-30, 0.9).set("weight_decay", 0.1);
  EXPECT_TRUE(keeps_update_contract(*make_optimizer("rmsprop", options)));
}

TEST(RmsProp, IsNotFusedAndKeepsWhatItNeeds) {
  EXPECT_FALSE(make_optimizer("rmsprop", Spec::map())->adds_scaled_gradient());
  EXPECT_EQ(make_optimizer("rmsprop", Spec::map())->state_slots(), 1);
  EXPECT_EQ(make_optimizer("rmsprop", Spec::map().set("momentum", 0.9))->state_slots(), 2);
  EXPECT_TRUE(make_optimizer("rmsprop", Spec::map().set("weight_decay", 0.1))->decays("dense.bias"));
}

TEST(RmsProp, RefusesWhatMakesNoSense) {
  const auto error_of = [](const char* key, auto value) {
    return error_of_optimizer("rmsprop", Spec::map().set(key, value));
  };
  EXPECT_EQ(error_of("rho", 1), "rho: expected at least 0 and less than 1, got 1");
  EXPECT_EQ(error_of("momentum", 1), "momentum: expected at least 0 and less than 1, got 1");
  EXPECT_EQ(error_of("epsilon", 0), "epsilon: expected at least 1e-30 and at most 1e+30, got 0");
}

}  // namespace
}  // namespace millrace::testing
