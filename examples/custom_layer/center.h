// center: a layer with state. It subtracts the mean of each column, which follows the batches of the training.
#pragma once

#include <millrace/extend.h>

#include <memory>
#include <span>
#include <string_view>

// y = x - mean[c], for row r and column c.
template <class T>
struct SubtractMean {
  const T* x;
  const T* mean;
  int64_t x_stride;
  millrace::Target<T> y;
  MILLRACE_HD void operator()(int64_t r, int64_t c) const { y.store(r, c, x[r * x_stride + c] - mean[c]); }
};

// The mean of column c keeps the share `momentum` of what it was.
template <class T>
struct FollowMean {
  T* mean;
  const T* sums;
  T momentum, factor;
  MILLRACE_HD void operator()(int64_t c) const { mean[c] = momentum * mean[c] + factor * sums[c]; }
};

// x, y are (B, n), the mean is (n).
class CenterPlan final : public millrace::LayerPlan {
 public:
  CenterPlan(const millrace::PlanArgs& args, double momentum)
      : rows_(args.output.spec()), train_(args.mode == millrace::Mode::train), momentum_(momentum) {}

  // The sums of the columns, and the scratch for computing them.
  size_t scratch_bytes() const override { return train_ ? sums_bytes() + millrace::column_sum_scratch(rows_) : 0; }
  bool backward_reads_inputs() const override { return false; }
  bool backward_reads_output() const override { return false; }

  // The mean comes from the batches before this one, so dx = dy.
  void forward(millrace::Context& context, const millrace::ForwardArgs& args) override {
    const millrace::ConstTensorView& x = args.inputs[0];
    millrace::dispatch_float(x.dtype(), [&]<class T>() {
      millrace::for_each_row_column(context, x.rows(), x.columns(),
                                    SubtractMean<T>{x.as<T>(), args.state[0].as<T>(), x.stride(),
                                                    millrace::Target<T>(context, {.view = args.output})});
      if (!train_) return;
      const millrace::TensorView sums(args.scratch, x.dtype(), millrace::Shape{x.columns()});
      millrace::column_sum(context, x, {.view = sums}, static_cast<std::byte*>(args.scratch) + sums_bytes());
      const double factor = (1 - momentum_) / static_cast<double>(x.rows());
      millrace::for_each_index(context, x.columns(),
                               FollowMean<T>{args.mutable_state[0].as<T>(), sums.as<T>(), static_cast<T>(momentum_),
                                             static_cast<T>(factor)});
    });
  }

  void backward(millrace::Context& context, const millrace::BackwardArgs& args) override {
    if (const millrace::Destination& dx = args.input_gradients[0]) {
      millrace::copy_elements(context, args.output_gradient, dx);
    }
  }

 private:
  size_t sums_bytes() const {
    return millrace::aligned_bytes(static_cast<size_t>(rows_.shape.row().elements()) * millrace::size_of(rows_.dtype));
  }

  millrace::TensorSpec rows_;  // the layout of x and y
  bool train_;
  double momentum_;
};

class CenterLayer final : public millrace::Layer {
 public:
  struct Options {
    double momentum = 0.9;
    void declare(millrace::OptionReader& o) {
      o.optional("momentum", momentum, {.min = 0, .max = 1, .below_max = true},
                 "share of the mean that a batch leaves");
    }
  };
  static constexpr std::string_view kDoc =
      "values less the mean of their column, which follows the batches of the training";

  explicit CenterLayer(const Options& options) : options_(options) {}

  millrace::TensorSpec build(std::span<const millrace::TensorSpec> inputs, millrace::ParamBuilder& params) override {
    millrace::require_vector(inputs[0]);
    params.state("mean", inputs[0].shape, millrace::Initializer::constant(0));
    return inputs[0];
  }
  std::unique_ptr<millrace::LayerPlan> plan(millrace::Context&, const millrace::PlanArgs& args) const override {
    return std::make_unique<CenterPlan>(args, options_.momentum);
  }

 private:
  Options options_;
};
