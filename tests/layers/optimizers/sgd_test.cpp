#include <gtest/gtest.h>

#include <cmath>

#include "millrace/layers/schedule/schedule.h"
#include "tests/layers/layer_run.h"
#include "tests/layers/optimizers/optimizer_run.h"
#include "tests/layers/optimizers/update_contract.h"

namespace millrace::testing {
namespace {

Spec rate_of(double learning_rate) { return Spec::map().set("learning_rate", learning_rate); }
std::unique_ptr<Optimizer> sgd(double learning_rate) { return make_optimizer("sgd", rate_of(learning_rate)); }

// The parameter 1 after each of the updates by `gradients`.
std::vector<double> path(const Spec& options, const std::vector<double>& gradients) {
  Executor executor(1);
  Context context(Device::cpu(), executor);
  OptimizerRun run(context, {.kind = "sgd", .options = options}, {1});
  std::vector<double> out;
  for (const double gradient : gradients) {
    run.update({gradient});
    out.push_back(run.parameters()[0]);
  }
  return out;
}

TEST(Sgd, GoesAgainstTheGradient) {
  Executor executor(2);
  Context context(Device::cpu(), executor);
  for (const DType dtype : {DType::f32, DType::f64}) {
    Tensor parameters(Device::cpu(), {Shape{4}, dtype}), gradients(Device::cpu(), {Shape{4}, dtype});
    write_values(parameters.view(), {1, 2, 3, 0});
    write_values(gradients.view(), {4, -4, 0, 1});
    const float scalar = -0.25F;
    sgd(0.25)->update(
        context, {.parameters = parameters.view(), .gradients = gradients.view(), .slots = {}, .scalars = &scalar});
    EXPECT_EQ(read_values(parameters.view()), (std::vector<double>{0, 3, 3, -0.25}));
  }
}

TEST(Sgd, ReadsItsRateWhenTheStepRuns) {
  const std::unique_ptr<Optimizer> optimizer = sgd(0.1);
  ASSERT_EQ(optimizer->scalar_count(), 1);
  float scalar = 0;
  optimizer->scalars(0, {&scalar, 1});
  EXPECT_EQ(scalar, -0.1F);
  optimizer->scalars(1000, {&scalar, 1});
  EXPECT_EQ(scalar, -0.1F);

  Executor executor(1);
  Context context(Device::cpu(), executor);
  Tensor parameter(Device::cpu(), {Shape{1}, DType::f32}), gradient(Device::cpu(), {Shape{1}, DType::f32});
  write_values(gradient.view(), {1});
  const float other = 2;
  optimizer->update(context,
                    {.parameters = parameter.view(), .gradients = gradient.view(), .slots = {}, .scalars = &other});
  EXPECT_EQ(read_values(parameter.view())[0], 2);
}

TEST(Sgd, MomentumByHand) {
  const Spec options = rate_of(0.25).set("momentum", 0.5);
  // Velocities 2, 3 and 0.5.
  EXPECT_EQ(path(options, {2, 2, -1}), (std::vector<double>{0.5, -0.25, -0.375}));
}

TEST(Sgd, NesterovByHand) {
  const Spec options = rate_of(0.25).set("momentum", 0.5).set("nesterov", true);
  // 2 + 0.5 * 2, then 2 + 0.5 * 3.
  EXPECT_EQ(path(options, {2, 2}), (std::vector<double>{0.25, -0.625}));
}

TEST(Sgd, WeightDecayByHand) {
  EXPECT_EQ(path(rate_of(0.25).set("weight_decay", 0.5), {2, 0}), (std::vector<double>{0.375, 0.328125}));
  // Velocities 2.5 and 0.5 * 2.5 + 0.5 * 0.375.
  EXPECT_EQ(path(rate_of(0.25).set("weight_decay", 0.5).set("momentum", 0.5), {2, 0}),
            (std::vector<double>{0.375, 0.015625}));
}

TEST(Sgd, GoesAsPyTorch) {
  // torch.optim.SGD; see after_six_updates.
  expect_all_near(after_six_updates("sgd", rate_of(0.1).set("momentum", 0.9)),
                  {1.120821875, -2.1751665, 0.480546375, 0.1722955}, 1e-13);
  expect_all_near(
      after_six_updates("sgd", rate_of(0.1).set("momentum", 0.9).set("nesterov", true).set("weight_decay", 0.05)),
      {1.0156733282679529, -2.00119230206847, 0.417373001958968, 0.20012850653190178}, 1e-13);
  expect_all_near(after_six_updates("sgd", rate_of(0.1).set("weight_decay", 0.05)),
                  {0.994634628285758, -2.002560642111047, 0.4727475077875469, 0.2808959959329727}, 1e-13);
}

TEST(Sgd, FollowsItsRule) {
  for (const bool nesterov : {false, true}) {
    const Spec options = rate_of(0.2)
                             .set("momentum", 0.9)
                             .set("nesterov", nesterov)
                             .set("weight_decay", 0.1)
                             .set("schedule", bent_schedule());
    for (const double decay : {0.1, 0.0}) {
      Spec those = options;
      if (decay == 0) those.set("no_decay", "dense.*");
      expect_follows({.kind = "sgd", .options = those},
                     [&](int update, double gradient, double& parameter, std::array<double, 2>& kept) {
                       gradient += decay * parameter;
                       kept[0] = 0.9 * kept[0] + gradient;
                       parameter -= bent_rate(0.2, update) * (nesterov ? gradient + 0.9 * kept[0] : kept[0]);
                     });
    }
  }
  expect_follows({.kind = "sgd", .options = rate_of(0.2).set("weight_decay", 0.1).set("schedule", bent_schedule())},
                 [](int update, double gradient, double& parameter, std::array<double, 2>&) {
                   parameter -= bent_rate(0.2, update) * (gradient + 0.1 * parameter);
                 });
}

TEST(Sgd, KeepsTheContractOfUpdates) {
  EXPECT_TRUE(keeps_update_contract(*sgd(0.3)));
  EXPECT_TRUE(keeps_update_contract(*make_optimizer("sgd", rate_of(0.3).set("weight_decay", 0.1))));
  const Spec options = rate_of(0.3).set("weight_decay", 0.1).set("momentum", 0.9).set("nesterov", true);
  EXPECT_TRUE(keeps_update_contract(*make_optimizer("sgd", options)));
}

TEST(Sgd, MayBeFusedAndKeepsNoState) {
  EXPECT_TRUE(sgd(1)->adds_scaled_gradient());
  EXPECT_EQ(sgd(1)->state_slots(), 0);
  const auto decayed = make_optimizer("sgd", rate_of(1).set("weight_decay", 0.1));
  EXPECT_FALSE(decayed->adds_scaled_gradient());
  EXPECT_EQ(decayed->state_slots(), 0);
  const auto moved = make_optimizer("sgd", rate_of(1).set("momentum", 0.1));
  EXPECT_FALSE(moved->adds_scaled_gradient());
  EXPECT_EQ(moved->state_slots(), 1);
}

TEST(Sgd, AScheduleLeavesItPlain) {
  const Spec cosine = Spec::map().set("cosine", Spec::map().set("steps", 7).set("final", 0.1).set("warmup", 3));
  const auto optimizer = make_optimizer("sgd", rate_of(0.3).set("schedule", cosine));
  EXPECT_TRUE(optimizer->adds_scaled_gradient());
  ASSERT_EQ(optimizer->scalar_count(), 1);
  const Schedule schedule(cosine);
  for (uint64_t step = 0; step < 9; ++step) {
    float scalar = 0;
    optimizer->scalars(step, {&scalar, 1});
    EXPECT_EQ(scalar, static_cast<float>(-0.3 * schedule.factor(step))) << "update " << step;
  }
}

TEST(Sgd, DecaysWhatNoPatternExcludes) {
  const auto decays = [](const Spec& options, const char* name) {
    return make_optimizer("sgd", options)->decays(name);
  };
  const Spec options = rate_of(1).set("weight_decay", 0.1);
  EXPECT_FALSE(decays(rate_of(1), "dense.weight"));
  EXPECT_TRUE(decays(options, "dense.weight"));
  EXPECT_TRUE(decays(options, "dense.bias"));
  Spec patterns = options;
  patterns.set("no_decay", Spec::list().append(Spec::of("*.bias")).append(Spec::of("norm_?.*")));
  EXPECT_TRUE(decays(patterns, "dense.weight"));
  EXPECT_FALSE(decays(patterns, "dense.bias"));
  EXPECT_FALSE(decays(patterns, "norm_2.weight"));
  EXPECT_TRUE(decays(patterns, "norm.weight"));
}

TEST(Sgd, NeedsARateThatAFloatHolds) {
  const auto error_of = [](const Spec& options) { return error_of_optimizer("sgd", options); };
  EXPECT_EQ(error_of(Spec::map()),
            "the key learning_rate is required (number); learning_rate: how far a step goes against the gradient");
  EXPECT_EQ(error_of(rate_of(0)), "learning_rate: expected at least 1e-30 and at most 1e+18, got 0");
  EXPECT_EQ(error_of(rate_of(-0.5)), "learning_rate: expected at least 1e-30 and at most 1e+18, got -0.5");
  // As a float it would be 0, and nothing would be learned.
  EXPECT_EQ(error_of(rate_of(1e-50)), "learning_rate: expected at least 1e-30 and at most 1e+18, got 1e-50");
  EXPECT_EQ(error_of(rate_of(1e19)), "learning_rate: expected at least 1e-30 and at most 1e+18, got 1e+19");
  EXPECT_EQ(error_of(Spec::map().set("learning_rate", Spec::scalar(".inf", false, {}))),
            "sgd: learning_rate: expected at least 1e-30 and at most 1e+18, got .inf");
  EXPECT_EQ(error_of(Spec::map().set("learning_rate", Spec::scalar(".nan", false, {}))),
            "sgd: learning_rate: expected at least 1e-30 and at most 1e+18, got .nan");
}

TEST(Sgd, RefusesWhatMakesNoSense) {
  const auto error_of = [](const char* key, auto value) {
    return error_of_optimizer("sgd", rate_of(1).set(key, value));
  };
  EXPECT_EQ(error_of("momentum", 1), "momentum: expected at least 0 and less than 1, got 1");
  EXPECT_EQ(error_of("momentum", -0.5), "momentum: expected at least 0 and less than 1, got -0.5");
  EXPECT_EQ(error_of("momentum", std::nan("")), "momentum: expected at least 0 and less than 1, got .nan");
  EXPECT_EQ(error_of("nesterov", true), "nesterov: nesterov needs a momentum; set momentum, for example to 0.9");
  EXPECT_EQ(error_of("weight_decay", -1), "weight_decay: expected at least 0 and at most 1e+18, got -1");
  EXPECT_EQ(error_of("momentun", 0.9), "unknown key momentun; did you mean momentum?");
  EXPECT_EQ(error_of("schedule", "cosin"), "schedule: unknown schedule \"cosin\"; did you mean cosine?");
}

TEST(Sgd, WritesEveryOptionBack) {
  Spec resolved;
  const Spec options = rate_of(0.5);
  LayerCatalog::builtin().optimizers.make({"sgd", options}, options, &resolved);
  std::string text;
  for (const auto& [key, value] : resolved.entries()) {
    text += key + '=' + (value.is_scalar() ? value.as_string() : value.describe()) + ' ';
  }
  EXPECT_EQ(text, "learning_rate=0.5 schedule=constant weight_decay=0 no_decay=a list momentum=0 nesterov=false ");
}

}  // namespace
}  // namespace millrace::testing
