// The metric and the optimizer of examples/plugin keep what is asked of every one.
#include <gtest/gtest.h>

#include <cmath>

#include "millrace/plugin.h"
#include "tests/layers/optimizers/update_contract.h"

// Here each file adds its kind to a catalog of the test.
#undef MILLRACE_PLUGIN
#define MILLRACE_PLUGIN(catalog) static void add_metric(millrace::Catalog& catalog)
#include "examples/plugin/within.cpp"
#undef MILLRACE_PLUGIN
#define MILLRACE_PLUGIN(catalog) static void add_optimizer(millrace::Catalog& catalog)
#include "examples/plugin/sign_sgd.cpp"

namespace millrace::testing {
namespace {

LayerCatalog with_both() {
  Catalog catalog = Catalog::builtin();
  add_metric(catalog);
  add_optimizer(catalog);
  return catalog.layers;
}

// Of rows of two values, in a single batch.
double within(const std::vector<double>& predictions, const std::vector<double>& labels,
              const std::vector<double>& weights = {}) {
  const auto metric = with_both().metrics.make({"within", Spec::map().set("tolerance", 0.25)}, {});
  const auto rows = static_cast<int64_t>(labels.size()) / 2;
  Executor executor(2);
  Context context(Device::cpu(), executor);
  const auto padded = [&](int64_t columns) {
    return Tensor(Device::cpu(), {Shape{rows, columns}, DType::f32}, Tensor::Rows::padded);
  };
  Tensor prediction = padded(2), label = padded(2), weight = padded(1);
  write_values(prediction.view(), predictions);
  write_values(label.view(), labels);
  if (!weights.empty()) write_values(weight.view(), weights);
  const auto plan =
      metric->plan(context, {.prediction = prediction.view(), .label = label.view(), .weighted = !weights.empty()});
  std::vector<std::byte> partial(plan->partial_bytes());
  const Memory scratch(Device::cpu(), plan->scratch_bytes());
  plan->run(context, {.prediction = prediction.view(),
                      .label = label.view(),
                      .weight = weights.empty() ? ConstTensorView() : ConstTensorView(weight.view()),
                      .partial = partial.data(),
                      .scratch = scratch.data()});
  const auto accumulator = metric->accumulator();
  accumulator->add(partial, rows);
  return accumulator->value();
}

TEST(PluginExample, WithinCountsRowsByTheirWeights) {
  const std::vector<double> labels = {1, 2, 1, 2, 1, 2, 1, 2};
  EXPECT_EQ(within({1.25, 1.75, 1, 2, 1, 2.5, 0.5, 2}, labels), 0.5);
  EXPECT_EQ(within({1.25, 1.75, std::nan(""), 2, 1, std::nan(""), 0.5, 2}, labels), 0.25);
  EXPECT_EQ(within({1.25, 1.75, 1, 2, 1, 2.5, std::nan(""), 2}, labels, {0.5, 1.5, 2, 0}), 0.5);
}

TEST(PluginExample, WithinRefusesWhatItCannotJudge) {
  const auto metric = with_both().metrics.make({"within", Spec::map()}, {});
  EXPECT_NO_THROW(metric->check({Shape{2}, DType::f32}, {Shape{2}, DType::f32}));
  EXPECT_THROW(metric->check({Shape{2}, DType::f32}, {Shape{1}, DType::f32}), ShapeError);
  EXPECT_THROW(metric->check({Shape{1}, DType::f32}, {Shape{1}, DType::i32}), ShapeError);
}

TEST(PluginExample, SignSgdKeepsTheContract) {
  for (const double momentum : {0.0, 0.9}) {
    const Spec options = Spec::map().set("learning_rate", 0.1).set("momentum", momentum);
    EXPECT_TRUE(keeps_update_contract(*with_both().optimizers.make({"sign_sgd", options}, {})));
  }
}

TEST(PluginExample, SignSgdStepsAreOfOneLength) {
  const auto optimizer = with_both().optimizers.make({"sign_sgd", Spec::map().set("learning_rate", 0.5)}, {});
  float parameters[4] = {1, 1, 1, 1}, velocity[4] = {}, gradients[4] = {3, -0.25F, 0, 1e-9F}, rate = 0;
  Executor executor(1);
  Context context(Device::cpu(), executor);
  optimizer->scalars(0, {&rate, 1});
  const TensorView slot(velocity, DType::f32, Shape{4});
  optimizer->update(context, {.parameters = TensorView(parameters, DType::f32, Shape{4}),
                              .gradients = ConstTensorView(gradients, DType::f32, Shape{4}),
                              .slots = {&slot, 1},
                              .scalars = &rate});
  EXPECT_EQ(std::vector<float>(parameters, parameters + 4), (std::vector<float>{0.5F, 1.5F, 1, 0.5F}));
}

}  // namespace
}  // namespace millrace::testing
