#include "millrace/testing.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string_view>

#include "millrace/core/context.h"
#include "millrace/core/errors.h"
#include "millrace/core/random.h"
#include "millrace/core/text.h"
#include "millrace/input/ops/shared/fields.h"
#include "millrace/layers/images/images.h"
#include "millrace/layers/model/connect.h"
#include "millrace/layers/model/initialize.h"

namespace millrace {

namespace {

// Value i in the order of memory, not counting the padding that may lie between rows.
template <class T = double>
T& at(Tensor& tensor, int64_t i) {
  const TensorView view = tensor.view();
  return view.as<T>()[i / view.columns() * view.stride() + i % view.columns()];
}

void fill(Tensor& tensor, double value) {
  for (int64_t i = 0; i < tensor.spec().shape.elements(); ++i) at(tensor, i) = value;
}

void draw(Tensor& tensor, std::string_view name) {
  for (int64_t i = 0; i < tensor.spec().shape.elements(); ++i) {
    const uint64_t bits = philox64(23, fnv1a64(name), static_cast<uint64_t>(i));
    const double size = 0.1 + 1.4 * to_unit(bits);
    at(tensor, i) = bits % 2 == 0 ? size : -size;
  }
}

void set(Tensor& tensor, int64_t i, double value) {
  with_number_type(tensor.spec().dtype, [&](auto zero) {
    using T = decltype(zero);
    at<T>(tensor, i) = static_cast<T>(value);
  });
}

Tensor of_batch(const TensorSpec& row, int64_t batch, Tensor::Rows rows = Tensor::Rows::padded) {
  return Tensor(Device::cpu(), {row.shape.with_batch(batch), row.dtype}, rows);
}

// An input, a parameter or a piece of state, and its gradient.
struct Value {
  std::string name;
  Tensor value, gradient;
  bool has_gradient = true;
};

// A layer with its memory, as a model would hold it.
class CheckedLayer final : private ParamBuilder {
 public:
  CheckedLayer(Layer& layer, const GradientCase& with) : layer_(layer), batch_(with.batch) {
    std::vector<TensorSpec> rows;
    std::vector<ValueRange> ranges;  // for inputs that are whole numbers
    for (size_t i = 0; i < with.inputs.size(); ++i) {
      const auto [dtype, range] = layer.wants(static_cast<int>(i), DType::f64);
      ranges.push_back(range.value_or(ValueRange{.min = 0, .max = 1}));
      rows.push_back({with.inputs[i], dtype});
      inputs_.push_back({cat("input ", i), memory_of(rows[i]), memory_of(rows[i]), dtype == DType::f64});
    }
    const TensorSpec output = layer.build(rows, *this);
    output_ = memory_of(output);
    output_gradient_ = memory_of(output);
    draw(output_gradient_, "output");
    for (Value* value : differentiable()) draw(value->value, value->name);
    for (size_t k = 0; k < inputs_.size(); ++k) {
      if (inputs_[k].has_gradient) continue;
      for (int64_t i = 0; i < inputs_[k].value.spec().shape.elements(); ++i) {
        set(inputs_[k].value, i, std::clamp(static_cast<double>(i % 2), ranges[k].min, ranges[k].max));
      }
    }
    make_plan();
  }

  std::vector<Value*> differentiable() {
    std::vector<Value*> out;
    for (auto* values : {&inputs_, &parameters_}) {
      for (Value& value : *values) {
        if (value.has_gradient) out.push_back(&value);
      }
    }
    return out;
  }

  // The sum of the outputs, each times the gradient that backward() gets for it.
  double forward() {
    std::vector<TensorView> mutable_state;
    for (size_t i = 0; i < state_.size(); ++i) {
      mutable_state.push_back(state_[i].value.view());
      initialize(context_, "state", state_initializers_[i], 23, mutable_state.back());
    }
    const std::vector<ConstTensorView> inputs = views(inputs_), params = views(parameters_), state = views(state_);
    plan_->forward(context_, {.inputs = inputs,
                              .params = params,
                              .state = state,
                              .mutable_state = mutable_state,
                              .output = output_.view(),
                              .saved = saved_.data(),
                              .scratch = scratch_.data(),
                              .step = &step_});
    double sum = 0;
    for (int64_t i = 0; i < output_.spec().shape.elements(); ++i) sum += at(output_, i) * at(output_gradient_, i);
    return sum;
  }

  void backward() {
    for (Value* value : differentiable()) fill(value->gradient, std::numeric_limits<double>::quiet_NaN());
    std::vector<ConstTensorView> inputs = views(inputs_);
    // As in a model, inputs that are not read are not kept.
    if (!plan_->backward_reads_inputs()) inputs.assign(inputs.size(), {});
    const std::vector<ConstTensorView> params = views(parameters_), state = views(state_);
    const std::vector<Destination> input_gradients = destinations(inputs_), gradients = destinations(parameters_);
    plan_->backward(context_, {.inputs = inputs,
                               .params = params,
                               .state = state,
                               .output = plan_->backward_reads_output() ? output_.view() : TensorView(),
                               .output_gradient = output_gradient_.view(),
                               .input_gradients = input_gradients,
                               .parameter_gradients = gradients,
                               .saved = saved_.data(),
                               .scratch = scratch_.data(),
                               .step = &step_});
  }

 private:
  DType dtype() const override { return DType::f64; }
  void parameter(std::string_view name, const Shape& shape, Initializer) override {
    const TensorSpec spec{shape, dtype()};
    parameters_.push_back({cat("parameter ", name), Tensor(Device::cpu(), spec), Tensor(Device::cpu(), spec)});
  }
  void state(std::string_view, const Shape& shape, Initializer initializer) override {
    state_.push_back({"state", Tensor(Device::cpu(), {shape, dtype()}), {}, false});
    state_initializers_.push_back(initializer);
  }

  void make_plan() {
    std::vector<TensorView> inputs;
    std::vector<GradientUse> uses;
    for (Value& input : inputs_) {
      inputs.push_back(input.value.view());
      uses.push_back(input.has_gradient ? GradientUse::write : GradientUse::none);
    }
    plan_ = layer_.plan(context_, {.inputs = inputs,
                                   .output = output_.view(),
                                   .input_gradients = uses,
                                   .parameter_gradients = GradientUse::write,
                                   .seed = 23,
                                   .name = "checked"});
    saved_ = Memory(Device::cpu(), plan_->saved_bytes());
    scratch_ = Memory(Device::cpu(), plan_->scratch_bytes());
  }

  // Images have no gaps between them.
  Tensor memory_of(const TensorSpec& row) const {
    const bool image = layer_.layout_use() == LayoutUse::images && is_image(row.shape);
    return of_batch(row, batch_, image ? Tensor::Rows::contiguous : Tensor::Rows::padded);
  }
  static std::vector<ConstTensorView> views(std::vector<Value>& values) {
    std::vector<ConstTensorView> out;
    for (Value& value : values) out.push_back(value.value.view());
    return out;
  }
  static std::vector<Destination> destinations(std::vector<Value>& values) {
    std::vector<Destination> out;
    for (Value& value : values) {
      out.push_back(value.has_gradient ? Destination{.view = value.gradient.view()} : Destination{});
    }
    return out;
  }

  Layer& layer_;
  const int64_t batch_;
  Executor executor_{1};
  Context context_{Device::cpu(), executor_};
  std::vector<Value> inputs_, parameters_, state_;
  std::vector<Initializer> state_initializers_;
  Tensor output_, output_gradient_;
  std::unique_ptr<LayerPlan> plan_;
  Memory saved_, scratch_;
  uint64_t step_ = 0;
};

// Compares `gradient` with the differences of `function` by each element of `value`; `out` keeps the largest error.
void compare(GradientCheck& out, std::string_view name, Tensor& value, Tensor& gradient,
             const std::function<double()>& function) {
  constexpr double kStep = 1e-5;
  for (int64_t i = 0; i < value.spec().shape.elements(); ++i) {
    double& moved = at(value, i);
    const double before = moved, got = at(gradient, i);
    moved = before + kStep;
    const double above = function();
    moved = before - kStep;
    const double below = function();
    moved = before;
    const double expected = (above - below) / (2 * kStep);
    double error = std::abs(got - expected) / std::max(1.0, std::abs(expected));
    if (!std::isfinite(error)) error = std::numeric_limits<double>::infinity();
    if (error <= out.error) continue;
    out.error = error;
    out.worst = cat(name, ", value ", i, ": ", got, ", by differences ", expected);
  }
}

// A loss with its rows, as a step would hold them.
class CheckedLoss {
 public:
  CheckedLoss(const Loss& loss, const LossCase& with)
      : row_{with.row, DType::f64},
        label_row_{with.label_row.value_or(with.row), loss.label(row_).dtype},
        batch_(with.batch),
        weighted_(with.weighted),
        prediction_(of_batch(row_, batch_)),
        gradient_(of_batch(row_, batch_)),
        label_(of_batch(label_row_, batch_)),
        weight_(of_batch({Shape{1}, DType::f32}, batch_)) {
    loss.check(row_, label_row_);
    draw(prediction_, "prediction");
    draw_label(
        loss.label(row_).range.value_or(ValueRange{.min = label_row_.dtype == DType::u8 ? 0.0 : -1.0, .max = 1}));
    for (int64_t i = 0; i < batch_; ++i) at<float>(weight_, i) = 0.5F * static_cast<float>(i);
    plan_ = loss.plan(context_, {.prediction = prediction_.view(), .label = label_.view(), .weighted = weighted_});
    scratch_ = Memory(Device::cpu(), plan_->scratch_bytes());
  }

  Tensor& prediction() { return prediction_; }
  Tensor& gradient() { return gradient_; }

  // The mean loss. Values of the gradient that the loss does not write are NaN.
  double run(bool with_gradient) {
    if (with_gradient) fill(gradient_, std::numeric_limits<double>::quiet_NaN());
    plan_->run(context_, {.prediction = prediction_.view(),
                          .label = label_.view(),
                          .weight = weighted_ ? ConstTensorView(weight_.view()) : ConstTensorView(),
                          .loss = value_,
                          .gradient = with_gradient ? gradient_.view() : TensorView(),
                          .scratch = scratch_.data()});
    return value_[0];
  }

  // Says what is wrong with the weights of the rows; empty: nothing.
  std::string wrong_weights() {
    const double mean = run(true), rows = static_cast<double>(batch_);
    const double expected = weighted_ ? 0.25 * rows * (rows - 1) : rows;
    if (!(std::abs(value_[1] - expected) < 1e-9 * expected)) {
      return cat("the weight of the rows is ", value_[1], ", expected ", expected);
    }
    if (!weighted_) return {};
    double& unseen = at(prediction_, 0);
    const double before = unseen;
    unseen = std::numeric_limits<double>::quiet_NaN();
    bool counts = run(true) != mean;
    for (int64_t i = 0; i < row_.shape.elements(); ++i) counts = counts || at(gradient_, i) != 0;
    unseen = before;
    return counts ? "a row of weight 0 counts" : "";
  }

 private:
  // If the range is wide, draws only from a part of width 4, as near to 0 as possible.
  void draw_label(const ValueRange& range) {
    const double least = std::max(range.min, std::min(-4.0, range.max - 4)), most = std::min(range.max, least + 4);
    const bool whole = label_row_.dtype != DType::f32 && label_row_.dtype != DType::f64;
    for (int64_t i = 0; i < label_.spec().shape.elements(); ++i) {
      const double part = to_unit(philox64(23, fnv1a64("label"), static_cast<uint64_t>(i)));
      set(label_, i, whole ? std::floor(least + part * (most - least + 1)) : least + part * (most - least));
    }
  }

  const TensorSpec row_, label_row_;
  const int64_t batch_;
  const bool weighted_;
  Executor executor_{1};
  Context context_{Device::cpu(), executor_};
  Tensor prediction_, gradient_, label_, weight_;
  std::unique_ptr<LossPlan> plan_;
  Memory scratch_;
  double value_[2] = {0, 0};
};

void require_values(const Shape& row, int64_t batch, int64_t least) {
  if (batch >= least && row.elements() > 0) return;
  throw ShapeError(cat("check_gradients: expected values, and at least ", count_of(least, "row"), ", got ",
                       count_of(batch, "row"), " of ", row.text()));
}

}  // namespace

GradientCheck check_gradients(Layer& layer, const GradientCase& with) {
  if (const std::string wrong = wrong_input_count(layer, static_cast<int>(with.inputs.size())); !wrong.empty()) {
    throw ShapeError(cat("check_gradients: ", wrong), {}, "give one row of each: {.inputs = {Shape{7}, Shape{7}}}");
  }
  for (const Shape& row : with.inputs) require_values(row, with.batch, 1);
  CheckedLayer checked(layer, with);
  if (checked.differentiable().empty()) {
    throw ShapeError("check_gradients: the layer reads whole numbers and has no parameters, so there are no gradients");
  }
  checked.forward();
  checked.backward();
  GradientCheck out;
  for (Value* value : checked.differentiable()) {
    compare(out, value->name, value->value, value->gradient, [&] { return checked.forward(); });
  }
  return out;
}

GradientCheck check_gradients(const Loss& loss, const LossCase& with) {
  require_values(with.row, with.batch, 2);
  CheckedLoss checked(loss, with);
  GradientCheck out;
  out.worst = checked.wrong_weights();
  if (!out.worst.empty()) {
    out.error = std::numeric_limits<double>::infinity();
    return out;
  }
  checked.run(true);
  compare(out, "prediction", checked.prediction(), checked.gradient(), [&] { return checked.run(false); });
  return out;
}

}  // namespace millrace
