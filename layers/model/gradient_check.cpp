#include "millrace/layers/model/gradient_check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <string_view>

#include "millrace/core/executor.h"
#include "millrace/core/random.h"
#include "millrace/core/text.h"
#include "millrace/layers/images/images.h"
#include "millrace/layers/model/initialize.h"

namespace millrace {

namespace {

// Value i in the order of memory, whatever padding lies between the rows.
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

template <class T>
void fill_with_classes(Tensor& tensor) {
  for (int64_t i = 0; i < tensor.spec().shape.elements(); ++i) at<T>(tensor, i) = static_cast<T>(i % 2);
}

void fill_with_whole_numbers(Tensor& tensor) {
  switch (tensor.spec().dtype) {
    case DType::f32: return fill_with_classes<float>(tensor);
    case DType::f64: return fill_with_classes<double>(tensor);
    case DType::i32: return fill_with_classes<int32_t>(tensor);
    case DType::i64: return fill_with_classes<int64_t>(tensor);
    case DType::u8: return fill_with_classes<uint8_t>(tensor);
  }
}

// An input or a parameter, and its gradient.
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
    for (size_t i = 0; i < with.inputs.size(); ++i) {
      const DType dtype = layer.input_dtype(static_cast<int>(i), DType::f64);
      rows.push_back({with.inputs[i], dtype});
      inputs_.push_back({cat("input ", i), of_batch(rows[i]), of_batch(rows[i]), dtype == DType::f64});
    }
    const TensorSpec output = layer.build(rows, *this);
    output_ = of_batch(output);
    output_gradient_ = of_batch(output);
    draw(output_gradient_, "output");
    for (Value* value : differentiable()) draw(value->value, value->name);
    for (Value& input : inputs_) {
      if (!input.has_gradient) fill_with_whole_numbers(input.value);
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

  // The sum of the outputs, each times the gradient that it is given.
  double forward() {
    std::vector<TensorView> mutable_state;
    for (size_t i = 0; i < state_.size(); ++i) {
      initialize(context_, "state", state_initializers_[i], 23, state_[i].view());
      mutable_state.push_back(state_[i].view());
    }
    const std::vector<ConstTensorView> inputs = views(inputs_), params = views(parameters_), state = state_views();
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
    // As in a model: what is not read is not kept.
    if (!plan_->backward_reads_inputs()) inputs.assign(inputs.size(), {});
    const std::vector<ConstTensorView> params = views(parameters_), state = state_views();
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
    state_.emplace_back(Device::cpu(), TensorSpec{shape, dtype()});
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
  Tensor of_batch(const TensorSpec& row) const {
    const bool image = layer_.layout_use() == LayoutUse::images && is_image(row.shape);
    return Tensor(Device::cpu(), {row.shape.with_batch(batch_), row.dtype},
                  image ? Tensor::Rows::contiguous : Tensor::Rows::padded);
  }
  static std::vector<ConstTensorView> views(std::vector<Value>& values) {
    std::vector<ConstTensorView> out;
    for (Value& value : values) out.push_back(value.value.view());
    return out;
  }
  std::vector<ConstTensorView> state_views() {
    std::vector<ConstTensorView> out;
    for (Tensor& tensor : state_) out.push_back(tensor.view());
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
  std::vector<Value> inputs_, parameters_;
  std::vector<Tensor> state_;
  std::vector<Initializer> state_initializers_;
  Tensor output_, output_gradient_;
  std::unique_ptr<LayerPlan> plan_;
  Memory saved_, scratch_;
  uint64_t step_ = 0;
};

}  // namespace

GradientCheck check_gradients(Layer& layer, const GradientCase& with) {
  constexpr double kStep = 1e-5;
  CheckedLayer checked(layer, with);
  checked.forward();
  checked.backward();
  GradientCheck out;
  for (Value* value : checked.differentiable()) {
    for (int64_t i = 0; i < value->value.spec().shape.elements(); ++i) {
      double& moved = at(value->value, i);
      const double before = moved, got = at(value->gradient, i);
      moved = before + kStep;
      const double above = checked.forward();
      moved = before - kStep;
      const double below = checked.forward();
      moved = before;
      const double expected = (above - below) / (2 * kStep);
      double error = std::abs(got - expected) / std::max(1.0, std::abs(expected));
      if (!std::isfinite(error)) error = std::numeric_limits<double>::infinity();
      if (error <= out.error) continue;
      out.error = error;
      out.worst = cat(value->name, ", value ", i, ": ", got, ", by differences ", expected);
    }
  }
  return out;
}

}  // namespace millrace
