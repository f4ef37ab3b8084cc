// OptimizerRun: one optimizer and the parameters that it changes, as doubles, on the device of any context.
//
//   OptimizerRun run(context, {.kind = "sgd", .options = rate_of(0.5)}, {1, 2});
//   run.update({4, -4});  run.parameters();
//
// expect_follows compares many updates with a rule that is written down for one number in double.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/layers/layer_run.h"

namespace millrace::testing {

inline std::unique_ptr<Optimizer> make_optimizer(const std::string& kind, const Spec& options) {
  return LayerCatalog::builtin().optimizers.make({kind, options}, options);
}

// What a configuration is refused with.
inline std::string error_of_optimizer(const std::string& kind, const Spec& options) {
  try {
    make_optimizer(kind, options);
  } catch (const ConfigError& error) {
    return error.message() + (error.hint().empty() ? "" : "; " + error.hint());
  }
  return "no error";
}

struct OptimizerCase {
  std::string kind;
  Spec options = Spec::map();
  DType dtype = DType::f64;
  std::string parameter = "dense.weight";
};

class OptimizerRun {
 public:
  OptimizerRun(Context& context, const OptimizerCase& from, const std::vector<double>& parameters)
      : context_(context),
        optimizer_(make_optimizer(from.kind, from.options)),
        spec_{Shape{static_cast<int64_t>(parameters.size())}, from.dtype},
        parameters_(context.device(), spec_),
        gradients_(context.device(), spec_),
        host_scalars_(static_cast<size_t>(optimizer_->scalar_count())),
        scalars_(context.device(), host_scalars_.size() * sizeof(float)),
        decay_(optimizer_->decays(from.parameter)) {
    for (int i = 0; i < optimizer_->state_slots(); ++i) slots_.emplace_back(context.device(), spec_);
    write(parameters_, parameters);
    for (Tensor& slot : slots_) write(slot, filled(spec_.shape.elements(), 0));
  }

  void update(const std::vector<double>& gradients) {
    write(gradients_, gradients);
    optimizer_->scalars(step_++, host_scalars_);
    context_.copy(scalars_.data(), host_scalars_.data(), scalars_.bytes());
    std::vector<TensorView> slots;
    for (Tensor& slot : slots_) slots.push_back(slot.view());
    optimizer_->update(context_, {.parameters = parameters_.view(),
                                  .gradients = gradients_.view(),
                                  .slots = slots,
                                  .scalars = static_cast<const float*>(scalars_.data()),
                                  .decay = decay_});
    context_.synchronize();
  }

  std::vector<double> parameters() { return read(parameters_); }
  std::vector<double> slot(size_t i) { return read(slots_.at(i)); }

 private:
  void write(Tensor& tensor, const std::vector<double>& values) {
    Tensor host(Device::cpu(), spec_);
    write_values(host.view(), values);
    context_.copy(tensor.view().data(), host.view().data(), spec_.bytes());
    context_.synchronize();
  }
  std::vector<double> read(Tensor& tensor) {
    Tensor host(Device::cpu(), spec_);
    context_.copy(host.view().data(), tensor.view().data(), spec_.bytes());
    context_.synchronize();
    return read_values(host.view());
  }

  Context& context_;
  std::unique_ptr<Optimizer> optimizer_;
  TensorSpec spec_;
  Tensor parameters_, gradients_;
  std::vector<Tensor> slots_;
  std::vector<float> host_scalars_;
  Memory scalars_;
  bool decay_;
  uint64_t step_ = 0;
};

// The parameters {1, -2, 0.5, 0.25} after six updates by ((7 update + 3 i) mod 11 - 5) / 8 for element i, in float64 on
// the CPU. The numbers that tests compare them with are those of torch.optim 1.13 from the same start and gradients.
inline std::vector<double> after_six_updates(const std::string& kind, const Spec& options) {
  Executor executor(1);
  Context context(Device::cpu(), executor);
  OptimizerRun run(context, {.kind = kind, .options = options}, {1, -2, 0.5, 0.25});
  for (int update = 0; update < 6; ++update) {
    std::vector<double> gradients;
    for (int i = 0; i < 4; ++i) gradients.push_back(((7 * update + 3 * i) % 11 - 5) / 8.0);
    run.update(gradients);
  }
  return run.parameters();
}

inline void expect_all_near(const std::vector<double>& got, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(got[i], expected[i], tolerance) << "element " << i;
}

// A schedule with a bend at every place where one may be, and its rate for an update, from the formula alone.
inline Spec bent_schedule() {
  return Spec::map().set("linear", Spec::map().set("steps", 40).set("final", 0.1).set("warmup", 5));
}
inline double bent_rate(double rate, int update) {
  if (update < 5) return rate * (update + 1) / 5;
  return rate * (1 - 0.9 * std::min(1.0, (update - 5) / 35.0));
}

// Changes one number and what is kept for it; `update` counts from 0.
using UpdateRule = std::function<void(int update, double gradient, double& parameter, std::array<double, 2>& kept)>;

// 50 updates go as `rule` says, up to rounding, in both dtypes.
inline void expect_follows(OptimizerCase from, const UpdateRule& rule) {
  constexpr int kCount = 37, kUpdates = 50;
  Executor executor(1);
  Context context(Device::cpu(), executor);
  for (const DType dtype : {DType::f64, DType::f32}) {
    from.dtype = dtype;
    std::vector<double> expected = draws("parameters", kCount, -2, 2);
    std::vector<std::array<double, 2>> kept(kCount, {0, 0});
    OptimizerRun run(context, from, expected);
    for (int update = 0; update < kUpdates; ++update) {
      const std::vector<double> gradients = draws("gradients" + std::to_string(update), kCount);
      for (size_t i = 0; i < kCount; ++i) rule(update, gradients[i], expected[i], kept[i]);
      run.update(gradients);
    }
    SCOPED_TRACE(to_string(dtype));
    expect_all_near(run.parameters(), expected, dtype == DType::f64 ? 1e-12 : 2e-5);
  }
}

}  // namespace millrace::testing
