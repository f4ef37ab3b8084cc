// LayerRun: one layer alone, with values as doubles whatever its dtype.
//
//   LayerRun run({.kind = "dense", .options = Spec::map().set("units", 2), .inputs = {Shape{3}}, .batch = 4});
//   run.set_input(0, {...});  run.forward();  run.output();
//
// Images lie as the layer takes them; the values that go in and come out are in the order of the shape. Rows are padded
// as in a model, and the padding, like every destination that is only written, is full of NaN: a kernel that reads it
// shows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "millrace/core/random.h"
#include "millrace/layers/catalog.h"
#include "millrace/layers/images/images.h"
#include "millrace/layers/model/initialize.h"

namespace millrace::testing {

// Fills a tensor's rows from `values`, its padding with NaN.
inline void write_values(TensorView view, const std::vector<double>& values) {
  const auto write = [&]<class T>() {
    if constexpr (std::is_floating_point_v<T>) {
      std::fill_n(view.as<T>(), view.rows() * view.stride(), std::numeric_limits<T>::quiet_NaN());
    }
    for (int64_t r = 0; r < view.rows(); ++r) {
      for (int64_t c = 0; c < view.columns(); ++c) {
        view.as<T>()[r * view.stride() + c] = static_cast<T>(values.at(static_cast<size_t>(r * view.columns() + c)));
      }
    }
  };
  switch (view.dtype()) {
    case DType::f32: write.operator()<float>(); return;
    case DType::f64: write.operator()<double>(); return;
    case DType::i32: write.operator()<int32_t>(); return;
    case DType::i64: write.operator()<int64_t>(); return;
    case DType::u8: write.operator()<uint8_t>(); return;
  }
}

inline std::vector<double> read_values(ConstTensorView view) {
  std::vector<double> values;
  const auto read = [&]<class T>() {
    for (int64_t r = 0; r < view.rows(); ++r) {
      const T* row = view.as<T>() + r * view.stride();
      for (int64_t c = 0; c < view.columns(); ++c) values.push_back(static_cast<double>(row[c]));
    }
  };
  switch (view.dtype()) {
    case DType::f32: read.operator()<float>(); break;
    case DType::f64: read.operator()<double>(); break;
    case DType::i32: read.operator()<int32_t>(); break;
    case DType::i64: read.operator()<int64_t>(); break;
    case DType::u8: read.operator()<uint8_t>(); break;
  }
  return values;
}

inline std::vector<double> filled(int64_t count, double value) {
  return std::vector<double>(static_cast<size_t>(count), value);
}
inline std::vector<double> nans(int64_t count) { return filled(count, std::numeric_limits<double>::quiet_NaN()); }

// Numbers in [low, high) that depend on `name` alone.
inline std::vector<double> draws(std::string_view name, int64_t count, double low = -1, double high = 1) {
  std::vector<double> out;
  for (int64_t i = 0; i < count; ++i) {
    const double unit = to_unit(philox64(7, fnv1a64(name), static_cast<uint64_t>(i)));
    // Rounded to float, so that runs in both dtypes begin with the same numbers.
    out.push_back(static_cast<double>(static_cast<float>(low + unit * (high - low))));
  }
  return out;
}

struct LayerCase {
  std::string kind;
  Spec options = Spec::map();
  std::vector<Shape> inputs;  // of one row
  int64_t batch = 3;
  DType dtype = DType::f64;
  Mode mode = Mode::train;
  GradientUse input_use = GradientUse::write;
  GradientUse parameter_use = GradientUse::write;
  std::string name = "layer";
};

class LayerRun final : private ParamBuilder {
 public:
  explicit LayerRun(const LayerCase& from, const LayerCatalog& catalog = LayerCatalog::builtin(), int threads = 2)
      : case_(from), executor_(threads), context_(Device::cpu(), executor_) {
    layer_ = catalog.layers.make({from.kind, from.options}, from.options);
    std::vector<TensorSpec> rows;
    std::vector<TensorView> views;
    for (size_t i = 0; i < from.inputs.size(); ++i) {
      const DType dtype = layer_->wants(static_cast<int>(i), from.dtype).dtype;
      rows.push_back({from.inputs[i], dtype});
      inputs_.push_back(padded(rows.back()));
      input_gradients_.push_back(padded(rows.back()));
      input_uses_.push_back(dtype == from.dtype ? from.input_use : GradientUse::none);
      views.emplace_back(nullptr, dtype, inputs_.back().spec().shape, inputs_.back().view().row_bytes());
    }
    const TensorSpec out = layer_->build(rows, *this);
    output_ = padded(out);
    output_gradient_ = padded(out);
    PlanArgs args;
    args.inputs = views;
    args.output = TensorView(nullptr, out.dtype, output_.spec().shape, output_.view().row_bytes());
    args.mode = from.mode;
    args.input_gradients = input_uses_;
    args.parameter_gradients = from.parameter_use;
    args.seed = 5;
    args.name = case_.name;
    plan_ = layer_->plan(context_, args);
    saved_ = Memory(Device::cpu(), plan_->saved_bytes());
    scratch_ = Memory(Device::cpu(), plan_->scratch_bytes());
    for (Tensor& gradient : input_gradients_) write_values(gradient.view(), nans(gradient.spec().shape.elements()));
  }

  void set_input(size_t i, const std::vector<double>& values) { write_rows(inputs_.at(i).view(), values); }
  void set_parameter(size_t i, const std::vector<double>& values) { write_values(parameters_.at(i).view(), values); }
  // What every forward() begins with; the initial values unless set.
  void set_state(size_t i, const std::vector<double>& values) { first_state_.at(i) = values; }
  void set_output_gradient(const std::vector<double>& values) { write_rows(output_gradient_.view(), values); }
  // What is in a gradient's place before backward; NaN unless set.
  void set_input_gradient(size_t i, const std::vector<double>& values) {
    write_rows(input_gradients_.at(i).view(), values);
  }
  void set_parameter_gradient(size_t i, const std::vector<double>& values) {
    write_values(parameter_gradients_.at(i).view(), values);
  }
  // backward() scales by `alpha`, for parameters and inputs apart; 1 unless set.
  void set_alpha(float parameters, float inputs) { parameter_alpha_ = parameters, input_alpha_ = inputs; }
  // backward() writes the parameters' gradients over the parameters.
  void update_in_place() { in_place_ = true; }

  void forward() {
    write_values(output_.view(), nans(output_.spec().shape.elements()));
    poison_scratch();
    std::vector<ConstTensorView> inputs, params;
    std::vector<TensorView> mutable_state;
    for (Tensor& input : inputs_) inputs.push_back(input.view());
    for (Tensor& parameter : parameters_) params.push_back(parameter.view());
    for (size_t i = 0; i < states_.size(); ++i) {
      write_values(states_[i].view(), first_state_[i]);
      if (case_.mode == Mode::train) mutable_state.push_back(states_[i].view());
    }
    plan_->forward(context_, {.inputs = inputs,
                              .params = params,
                              .state = state_views(),
                              .mutable_state = mutable_state,
                              .output = output_.view(),
                              .saved = saved_.data(),
                              .scratch = scratch_.data(),
                              .step = &step_});
  }

  void backward() {
    poison_scratch();
    std::vector<ConstTensorView> inputs, params;
    std::vector<Destination> input_gradients, parameter_gradients;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      inputs.push_back(plan_->backward_reads_inputs() ? ConstTensorView(inputs_[i].view()) : ConstTensorView());
      input_gradients.push_back(destination(input_gradients_[i].view(), input_uses_[i], &input_alpha_));
    }
    for (size_t i = 0; i < parameters_.size(); ++i) {
      params.push_back(parameters_[i].view());
      Tensor& target = in_place_ ? parameters_[i] : parameter_gradients_[i];
      parameter_gradients.push_back(destination(target.view(), case_.parameter_use, &parameter_alpha_));
    }
    plan_->backward(context_,
                    {.inputs = inputs,
                     .params = params,
                     .state = state_views(),
                     .output = plan_->backward_reads_output() ? ConstTensorView(output_.view()) : ConstTensorView(),
                     .output_gradient = output_gradient_.view(),
                     .input_gradients = input_gradients,
                     .parameter_gradients = parameter_gradients,
                     .saved = saved_.data(),
                     .scratch = scratch_.data(),
                     .step = &step_});
  }

  std::vector<double> output() { return read_rows(output_.view()); }
  std::vector<double> input(size_t i) { return read_rows(inputs_.at(i).view()); }
  std::vector<double> parameter(size_t i) { return read_values(parameters_.at(i).view()); }
  // What forward() left.
  std::vector<double> state(size_t i) { return read_values(states_.at(i).view()); }
  std::vector<double> input_gradient(size_t i) { return read_rows(input_gradients_.at(i).view()); }
  std::vector<double> parameter_gradient(size_t i) { return read_values(parameter_gradients_.at(i).view()); }
  size_t input_count() const { return inputs_.size(); }
  size_t parameter_count() const { return parameters_.size(); }
  const std::string& parameter_name(size_t i) const { return names_.at(i); }
  const Initializer& initializer(size_t i) const { return initializers_.at(i); }
  const TensorSpec& output_spec() const { return output_.spec(); }
  const LayerPlan& plan() const { return *plan_; }
  void set_step(uint64_t step) { step_ = step; }

 private:
  DType dtype() const override { return case_.dtype; }
  void parameter(std::string_view name, const Shape& shape, Initializer initializer) override {
    names_.emplace_back(name);
    initializers_.push_back(initializer);
    parameters_.emplace_back(Device::cpu(), TensorSpec{shape, case_.dtype});
    parameter_gradients_.emplace_back(Device::cpu(), TensorSpec{shape, case_.dtype});
    initialize(context_, name, initializer, 3, parameters_.back().view());
    write_values(parameter_gradients_.back().view(), nans(shape.elements()));
  }
  void state(std::string_view name, const Shape& shape, Initializer initializer) override {
    states_.emplace_back(Device::cpu(), TensorSpec{shape, case_.dtype});
    initialize(context_, name, initializer, 3, states_.back().view());
    first_state_.push_back(read_values(states_.back().view()));
  }

  // Images have no gaps between them.
  bool lies_as_image(const Shape& row) const { return layer_->layout_use() == LayoutUse::images && is_image(row); }
  Tensor padded(const TensorSpec& row) const {
    return Tensor(Device::cpu(), {row.shape.with_batch(case_.batch), row.dtype},
                  lies_as_image(row.shape) ? Tensor::Rows::contiguous : Tensor::Rows::padded);
  }
  // Moves each image's values from (lines, length) to (length, lines).
  static std::vector<double> transposed(const std::vector<double>& values, int64_t lines, int64_t length) {
    std::vector<double> out(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      const auto at = static_cast<int64_t>(i), size = lines * length, image = at / size, rest = at % size;
      out[static_cast<size_t>(image * size + rest % length * lines + rest / length)] = values[i];
    }
    return out;
  }
  void write_rows(TensorView view, const std::vector<double>& values) const {
    const Shape row = view.shape().row();
    write_values(view, lies_as_image(row) ? transposed(values, row[0], row[1] * row[2]) : values);
  }
  std::vector<double> read_rows(ConstTensorView view) const {
    const Shape row = view.shape().row();
    return lies_as_image(row) ? transposed(read_values(view), row[1] * row[2], row[0]) : read_values(view);
  }
  Destination destination(TensorView view, GradientUse use, const float* alpha) const {
    if (use == GradientUse::none) return {};
    Destination out;
    out.view = view;
    out.beta = use == GradientUse::add ? 1.0F : 0.0F;
    out.alpha = *alpha == 1.0F ? nullptr : alpha;
    return out;
  }
  const std::vector<ConstTensorView>& state_views() {
    state_views_.clear();
    for (Tensor& state : states_) state_views_.push_back(state.view());
    return state_views_;
  }
  void poison_scratch() {
    if (scratch_.bytes() > 0) std::fill_n(static_cast<unsigned char*>(scratch_.data()), scratch_.bytes(), 0xff);
  }

  LayerCase case_;
  Executor executor_;
  Context context_;
  std::unique_ptr<Layer> layer_;
  std::unique_ptr<LayerPlan> plan_;
  std::vector<Tensor> inputs_, input_gradients_, parameters_, parameter_gradients_, states_;
  std::vector<std::vector<double>> first_state_;
  std::vector<ConstTensorView> state_views_;
  std::vector<GradientUse> input_uses_;
  std::vector<std::string> names_;
  std::vector<Initializer> initializers_;
  Tensor output_, output_gradient_;
  Memory saved_, scratch_;
  float parameter_alpha_ = 1, input_alpha_ = 1;
  bool in_place_ = false;
  uint64_t step_ = 0;
};

// "message; hint" of what is wrong with a case; "no error" when nothing is.
inline std::string error_of(const LayerCase& from) {
  try {
    LayerRun run(from);
  } catch (const Error& error) {
    return cat(error.message(), error.hint().empty() ? "" : "; ", error.hint());
  }
  return "no error";
}

}  // namespace millrace::testing
