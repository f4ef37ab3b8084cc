// Training: the smallest training loop: a model, its plan, sigmoid cross-entropy and SGD, on data given as doubles.
#pragma once

#include <memory>
#include <vector>

#include "millrace/layers/model/model_plan.h"
#include "tests/layers/layer_run.h"
#include "tests/layers/model/build_model.h"

namespace millrace::testing {

struct TrainingCase {
  std::vector<LayerLine> layers;
  Shape row;  // of the field features
  int64_t batch = 4;
  DType dtype = DType::f32;
  uint64_t seed = 23;
  double learning_rate = 0.1;
  bool in_place = true;
  bool share_memory = true;
  int threads = 2;
  LayerCatalog catalog = LayerCatalog::builtin();
};

inline GradientTarget target_of(const TrainingCase& from) {
  return from.in_place ? GradientTarget::parameters : GradientTarget::block_write;
}

class Training {
 public:
  explicit Training(const TrainingCase& from)
      : executor_(from.threads),
        context_(Device::cpu(), executor_),
        model_(build_model(context_, from.layers, features(from.row, from.dtype), from.dtype, from.seed, from.catalog)),
        features_(Device::cpu(), {from.row.with_batch(from.batch), from.dtype}, Tensor::Rows::padded) {
    const TensorView inputs[] = {features_.view()};
    plan_ = std::make_unique<ModelPlan>(
        model_, context_,
        ModelPlanArgs{.inputs = inputs, .gradient_target = target_of(from), .share_memory = from.share_memory});
    const LayerCatalog catalog = LayerCatalog::builtin();
    label_ = Tensor(Device::cpu(), {plan_->output().shape(), DType::f32}, Tensor::Rows::padded);
    loss_ = catalog.losses.make({"sigmoid_cross_entropy", Spec::map()}, Spec::map())
                ->plan(context_, {.prediction = plan_->output(), .label = label_.view()});
    scratch_ = Memory(Device::cpu(), loss_->scratch_bytes());
    value_ = Tensor(Device::cpu(), {Shape{2}, from.dtype});
    gradients_ = Tensor(Device::cpu(), model_.parameter_block().spec());
    const Spec options = Spec::map().set("learning_rate", from.learning_rate);
    optimizer_ = catalog.optimizers.make({"sgd", options}, options);
    optimizer_->scalars(0, {&alpha_, 1});
  }

  // One step; returns the loss before it.
  double step(const std::vector<double>& features, const std::vector<double>& labels) {
    write_values(features_.view(), features);
    write_values(label_.view(), labels);
    run();
    return read_values(value_.view())[0];
  }

  // A step with the values of the last one.
  void run() {
    const ConstTensorView inputs[] = {features_.view()};
    plan_->forward(context_, inputs, &steps_);
    loss_->run(context_, {.prediction = plan_->output(),
                          .label = label_.view(),
                          .weight = {},
                          .loss = value_.view().data(),
                          .gradient = plan_->output_gradient(),
                          .scratch = scratch_.data()});
    plan_->backward(context_, inputs, &steps_, plan_->in_place() ? &alpha_ : nullptr, gradients_.view());
    if (!plan_->in_place()) {
      optimizer_->update(
          context_,
          {.parameters = model_.parameter_block(), .gradients = gradients_.view(), .slots = {}, .scalars = &alpha_});
    }
    ++steps_;
  }

  Model& model() { return model_; }
  ModelPlan& plan() { return *plan_; }
  Context& context() { return context_; }
  std::vector<double> output() { return read_values(plan_->output()); }
  std::vector<double> weights() { return read_values(model_.parameter_block()); }
  std::vector<double> gradients() { return read_values(gradients_.view()); }

 private:
  Executor executor_;
  Context context_;
  Model model_;
  Tensor features_, label_, value_, gradients_;
  std::unique_ptr<ModelPlan> plan_;
  std::unique_ptr<LossPlan> loss_;
  std::unique_ptr<Optimizer> optimizer_;
  Memory scratch_;
  float alpha_ = 0;
  uint64_t steps_ = 0;
};

}  // namespace millrace::testing
