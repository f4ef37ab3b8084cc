// Kinds that do nothing, for tests of configurations: layers `dense` and `relu`, loss `mse`, metric `accuracy`,
// optimizer `sgd`.
#pragma once

#include "millrace/trainer/config/catalog.h"

namespace millrace {

enum class FakeActivation { none, relu };
template <>
struct EnumNames<FakeActivation> {
  static constexpr std::pair<std::string_view, FakeActivation> kNames[] = {{"none", FakeActivation::none},
                                                                           {"relu", FakeActivation::relu}};
};

struct FakeDense final : Layer {
  static constexpr std::string_view kDoc = "outputs = activation(inputs * weight + bias)";
  struct Options {
    int64_t units = 0;
    FakeActivation activation = FakeActivation::none;
    void declare(OptionReader& o) {
      o.required("units", units, {.min = 1}, "outputs of a row");
      o.optional("activation", activation, "applied to the result");
    }
  };
  explicit FakeDense(const Options& options) : options_(options) {}
  TensorSpec build(std::span<const TensorSpec>, ParamBuilder&) override { return {Shape{options_.units}, DType::f32}; }
  std::unique_ptr<LayerPlan> plan(Context&, const PlanArgs&) const override { return nullptr; }

 private:
  Options options_;
};

struct FakeOptions {
  void declare(OptionReader&) {}
};

struct FakeRelu final : Layer {
  static constexpr std::string_view kDoc = "max(x, 0)";
  using Options = FakeOptions;
  explicit FakeRelu(const Options&) {}
  TensorSpec build(std::span<const TensorSpec> inputs, ParamBuilder&) override { return inputs[0]; }
  std::unique_ptr<LayerPlan> plan(Context&, const PlanArgs&) const override { return nullptr; }
};

struct FakeLoss final : Loss {
  static constexpr std::string_view kDoc = "mean of (prediction - label)^2";
  struct Options {
    double scale = 1;
    void declare(OptionReader& o) { o.optional("scale", scale, "factor"); }
  };
  explicit FakeLoss(const Options&) {}
  void check(const TensorSpec&, const TensorSpec&) const override {}
  LabelSpec label(const TensorSpec&) const override { return {}; }
  std::unique_ptr<LossPlan> plan(Context&, const LossPlanArgs&) const override { return nullptr; }
};

struct FakeMetric final : Metric {
  static constexpr std::string_view kDoc = "share of rows that are right";
  using Options = FakeOptions;
  explicit FakeMetric(const Options&) {}
  void check(const TensorSpec&, const TensorSpec&) const override {}
  std::unique_ptr<MetricPlan> plan(Context&, const MetricPlanArgs&) const override { return nullptr; }
  std::unique_ptr<MetricAccumulator> accumulator() const override { return nullptr; }
  bool less_is_better() const override { return false; }
};

struct FakeSgd final : Optimizer {
  static constexpr std::string_view kDoc = "parameter -= learning_rate * gradient";
  struct Options {
    double learning_rate = 0;
    void declare(OptionReader& o) { o.required("learning_rate", learning_rate, {.min = 0}, "size of a step"); }
  };
  explicit FakeSgd(const Options&) {}
  void scalars(uint64_t, std::span<float>) const override {}
  void update(Context&, const UpdateArgs&) const override {}
};

inline Catalog fake_catalog() {
  Catalog catalog;
  catalog.layers.layers.add<FakeDense>("dense");
  catalog.layers.layers.add<FakeRelu>("relu");
  catalog.layers.losses.add<FakeLoss>("mse");
  catalog.layers.metrics.add<FakeMetric>("accuracy");
  catalog.layers.optimizers.add<FakeSgd>("sgd");
  return catalog;
}

}  // namespace millrace
