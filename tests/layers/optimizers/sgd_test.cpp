#include <gtest/gtest.h>

#include <cmath>

#include "tests/layers/layer_run.h"
#include "tests/layers/optimizers/update_contract.h"

namespace millrace::testing {
namespace {

std::unique_ptr<Optimizer> sgd(double learning_rate) {
  const Spec options = Spec::map().set("learning_rate", learning_rate);
  return LayerCatalog::builtin().optimizers.make({"sgd", options}, options);
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

TEST(Sgd, KeepsTheContractOfUpdates) { EXPECT_TRUE(keeps_update_contract(*sgd(0.3))); }

TEST(Sgd, MayBeFusedAndKeepsNoState) {
  EXPECT_TRUE(sgd(1)->adds_scaled_gradient());
  EXPECT_EQ(sgd(1)->state_slots(), 0);
}

std::string error_of(const Spec& options) {
  try {
    LayerCatalog::builtin().optimizers.make({"sgd", options}, options);
  } catch (const ConfigError& error) {
    return error.message();
  }
  return "no error";
}

TEST(Sgd, NeedsAPositiveRate) {
  EXPECT_EQ(error_of(Spec::map()), "the key learning_rate is required (number)");
  EXPECT_EQ(error_of(Spec::map().set("learning_rate", 0)),
            "learning_rate: expected more than 0 and at most 1e+30, got 0");
  EXPECT_EQ(error_of(Spec::map().set("learning_rate", -0.5)),
            "learning_rate: expected more than 0 and at most 1e+30, got -0.5");
  EXPECT_EQ(error_of(Spec::map().set("learning_rate", Spec::scalar(".inf", false, {}))),
            "learning_rate: expected more than 0 and at most 1e+30, got \".inf\"");
  EXPECT_EQ(error_of(Spec::map().set("learning_rate", Spec::scalar(".nan", false, {}))),
            "learning_rate: expected more than 0 and at most 1e+30, got \".nan\"");
  EXPECT_EQ(error_of(Spec::map().set("learning_rate", 0.1).set("momentum", 0.9)), "unknown key momentum");
}

}  // namespace
}  // namespace millrace::testing
