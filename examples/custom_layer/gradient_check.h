// gradient_error: compares the gradients of a layer with differences of its outputs, in double.
//
//   EXPECT_LT(gradient_error(layer, {.row = {7}}), 1e-7);
#pragma once

#include <millrace/extend.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <string_view>
#include <vector>

struct GradientCheck {
  millrace::Shape row;  // of the input
  int64_t batch = 5;
};

// A layer of one input, with its memory, as a model would hold it.
class LayerRun : private millrace::ParamBuilder {
 public:
  LayerRun(millrace::Layer& layer, const GradientCheck& check) : x_(zeros(check.row.with_batch(check.batch))) {
    const millrace::TensorSpec row{check.row, dtype()};
    const millrace::TensorSpec output = layer.build(std::span(&row, 1), *this);
    y_ = zeros(output.shape.with_batch(check.batch));
    dy_ = zeros(y_.spec().shape);
    dx_ = zeros(x_.spec().shape);
    for (millrace::Tensor* tensor : values()) fill(*tensor);
    fill(dy_);

    const millrace::TensorView x = x_.view();
    const auto use = millrace::GradientUse::write;
    plan_ = layer.plan(context_, {.inputs = std::span(&x, 1),
                                  .output = y_.view(),
                                  .input_gradients = std::span(&use, 1),
                                  .parameter_gradients = use,
                                  .name = "checked"});
    saved_ = millrace::Memory(millrace::Device::cpu(), plan_->saved_bytes());
    scratch_ = millrace::Memory(millrace::Device::cpu(), plan_->scratch_bytes());
  }

  // The input and the parameters, and the gradients of each.
  std::vector<millrace::Tensor*> values() { return with(x_, params_); }
  std::vector<millrace::Tensor*> gradients() { return with(dx_, dparams_); }

  // The sum of the outputs, each times its value of dy.
  double forward() {
    const millrace::ConstTensorView x = x_.view();
    const std::vector<millrace::ConstTensorView> params = views(params_), state = views(state_);
    std::vector<millrace::TensorView> mutable_state;
    for (millrace::Tensor& tensor : state_) mutable_state.push_back(tensor.view());
    plan_->forward(context_, {.inputs = std::span(&x, 1),
                              .params = params,
                              .state = state,
                              .mutable_state = mutable_state,
                              .output = y_.view(),
                              .saved = saved_.data(),
                              .scratch = scratch_.data(),
                              .step = &step_});
    double sum = 0;
    for (int64_t i = 0; i < y_.view().elements(); ++i) sum += at(y_, i) * at(dy_, i);
    return sum;
  }

  void backward() {
    const millrace::ConstTensorView x = x_.view();
    const std::vector<millrace::ConstTensorView> params = views(params_), state = views(state_);
    const millrace::Destination dx{.view = dx_.view()};
    std::vector<millrace::Destination> dparams;
    for (millrace::Tensor& gradient : dparams_) dparams.push_back({.view = gradient.view()});
    plan_->backward(context_, {.inputs = std::span(&x, 1),
                               .params = params,
                               .state = state,
                               .output = y_.view(),
                               .output_gradient = dy_.view(),
                               .input_gradients = std::span(&dx, 1),
                               .parameter_gradients = dparams,
                               .saved = saved_.data(),
                               .scratch = scratch_.data(),
                               .step = &step_});
  }

  // Value i, whatever padding lies between the rows.
  static double& at(millrace::Tensor& tensor, int64_t i) {
    const millrace::TensorView view = tensor.view();
    return view.as<double>()[i / view.columns() * view.stride() + i % view.columns()];
  }

 private:
  millrace::DType dtype() const override { return millrace::DType::f64; }
  void parameter(std::string_view, const millrace::Shape& shape, millrace::Initializer) override {
    params_.push_back(zeros(shape));
    dparams_.push_back(zeros(shape));
  }
  void state(std::string_view, const millrace::Shape& shape, millrace::Initializer) override {
    state_.push_back(zeros(shape));
  }

  millrace::Tensor zeros(const millrace::Shape& shape) const {
    return millrace::Tensor(millrace::Device::cpu(), {shape, dtype()});
  }
  // Away from 0, where many functions have a bend.
  void fill(millrace::Tensor& tensor) {
    std::uniform_real_distribution<double> size(0.1, 1.5);
    for (int64_t i = 0; i < tensor.view().elements(); ++i)
      at(tensor, i) = random_() % 2 == 0 ? size(random_) : -size(random_);
  }
  static std::vector<millrace::Tensor*> with(millrace::Tensor& first, std::vector<millrace::Tensor>& others) {
    std::vector<millrace::Tensor*> all = {&first};
    for (millrace::Tensor& other : others) all.push_back(&other);
    return all;
  }
  static std::vector<millrace::ConstTensorView> views(const std::vector<millrace::Tensor>& tensors) {
    std::vector<millrace::ConstTensorView> out;
    for (const millrace::Tensor& tensor : tensors) out.push_back(tensor.view());
    return out;
  }

  millrace::Executor executor_{1};
  millrace::Context context_{millrace::Device::cpu(), executor_};
  std::mt19937 random_{23};
  millrace::Tensor x_, y_, dx_, dy_;
  std::vector<millrace::Tensor> params_, dparams_, state_;
  std::unique_ptr<millrace::LayerPlan> plan_;
  millrace::Memory saved_, scratch_;
  uint64_t step_ = 0;
};

// The largest error of any gradient, of the input or a parameter, relative to the larger of 1 and the gradient.
inline double gradient_error(millrace::Layer& layer, const GradientCheck& check) {
  constexpr double kStep = 1e-5;
  LayerRun run(layer, check);
  run.forward();
  run.backward();
  double worst = 0;
  for (size_t k = 0; k < run.values().size(); ++k) {
    millrace::Tensor &value = *run.values()[k], &gradient = *run.gradients()[k];
    for (int64_t i = 0; i < value.view().elements(); ++i) {
      const double before = LayerRun::at(value, i);
      LayerRun::at(value, i) = before + kStep;
      const double above = run.forward();
      LayerRun::at(value, i) = before - kStep;
      const double below = run.forward();
      LayerRun::at(value, i) = before;
      const double expected = (above - below) / (2 * kStep), got = LayerRun::at(gradient, i);
      worst = std::max(worst, std::abs(got - expected) / std::max(1.0, std::abs(expected)));
    }
  }
  return worst;
}
