// batch_norm: each channel with mean 0 and deviation 1 over the rows of a batch; predictions use running moments.
#include "millrace/core/kernels/batch_norm.h"

#include "millrace/core/parallel.h"
#include "millrace/layers/catalog.h"
#include "millrace/layers/images/images.h"
#include "millrace/layers/images/window.h"
#include "millrace/layers/onnx_layer.h"

namespace millrace {
namespace {

struct BatchNormOptions {
  double momentum = 0.9;
  double epsilon = 1e-5;
  void declare(OptionReader& o) {
    o.optional("momentum", momentum, {.min = 0, .max = 1, .below_max = true},
               "share of the running mean and variance that a batch leaves as it is");
    o.optional("epsilon", epsilon, {.min = 0, .above_min = true}, "added to the variance, so that it is never 0");
  }
};

// running = momentum * running + (1 - momentum) * factor * now
template <class T>
struct FollowMoment {
  double momentum, factor;
  const T* now;
  T* running;
  MILLRACE_HD void operator()(int64_t channel) const {
    running[channel] = static_cast<T>(momentum * static_cast<double>(running[channel]) +
                                      (1 - momentum) * factor * static_cast<double>(now[channel]));
  }
};

class BatchNormPlan final : public LayerPlan {
 public:
  BatchNormPlan(Context& context, const PlanArgs& args, const BatchNormOptions& options)
      : momentum_(options.momentum), train_(args.mode == Mode::train), stride_(args.output.stride()) {
    const Shape row = args.output.shape().row();
    const bool image = is_image(row);
    spec_.channels = row[0];
    spec_.pixels = image ? row[1] * row[2] : 1;
    spec_.rows = args.output.rows() * spec_.pixels;
    spec_.dtype = args.output.dtype();
    spec_.epsilon = options.epsilon;
    if (image) stride_ = spec_.channels;
    input_stride_ = image ? spec_.channels : args.inputs[0].stride();
    if (train_) scratch_bytes_ = batch_norm_scratch(context.device(), spec_);
  }

  // The batch's mean and variance.
  size_t saved_bytes() const override { return train_ ? 2 * moment_bytes() : 0; }
  size_t scratch_bytes() const override { return scratch_bytes_; }
  bool backward_reads_output() const override { return false; }

  void forward(Context& context, const ForwardArgs& args) override {
    const ConstNormRows x = {args.inputs[0].data(), input_stride_};
    NormParams params = {args.state[0].data(), args.state[1].data(), args.params[0].data(), args.params[1].data()};
    if (train_) {
      params.mean = args.saved, params.variance = variance_in(args.saved);
      batch_moments(context, spec_, x, args.saved, variance_in(args.saved), args.scratch);
      // A single value has no variance.
      if (spec_.rows > 1) {
        follow(context, params.mean, args.mutable_state[0], 1);
        // The variance of a batch is too small an estimate for the variance of all rows.
        const auto rows = static_cast<double>(spec_.rows);
        follow(context, params.variance, args.mutable_state[1], rows / (rows - 1));
      }
    }
    batch_norm(context, spec_, x, params, {args.output.data(), stride_});
  }

  void backward(Context& context, const BackwardArgs& args) override {
    batch_norm_gradient(
        context, spec_, {args.inputs[0].data(), input_stride_}, {args.output_gradient.data(), stride_},
        {args.saved, variance_in(args.saved), args.params[0].data(), args.params[1].data()},
        {.dx = args.input_gradients[0], .weight = args.parameter_gradients[0], .bias = args.parameter_gradients[1]},
        args.scratch);
  }

 private:
  size_t moment_bytes() const { return aligned_bytes(static_cast<size_t>(spec_.channels) * size_of(spec_.dtype)); }
  template <class Void>
  Void* variance_in(Void* saved) const {
    using Byte = std::conditional_t<std::is_const_v<Void>, const std::byte, std::byte>;
    return static_cast<Byte*>(saved) + moment_bytes();
  }
  void follow(Context& context, const void* now, const TensorView& running, double factor) const {
    dispatch_float(spec_.dtype, [&]<class T>() {
      for_each_index(context, spec_.channels,
                     FollowMoment<T>{momentum_, factor, static_cast<const T*>(now), running.as<T>()});
    });
  }

  double momentum_;
  bool train_;
  int64_t stride_, input_stride_ = 0;
  size_t scratch_bytes_ = 0;
  BatchNormSpec spec_;
};

class BatchNorm final : public Layer {
 public:
  using Options = BatchNormOptions;
  static constexpr std::string_view kDoc =
      "mean 0 and deviation 1 for each channel over all rows of a batch, whatever their weight, then a trained scale "
      "and shift; the variance of n values in a batch is their sum of squares divided by n; predictions use running "
      "means and variances from the training, in which it is divided by n - 1, and in which a batch with a single "
      "value "
      "for each channel does not count";

  explicit BatchNorm(const Options& options) : options_(options) {}

  LayoutUse layout_use() const override { return LayoutUse::images; }
  TensorSpec build(std::span<const TensorSpec> inputs, ParamBuilder& params) override {
    require_channels(inputs[0]);
    const Shape& row = inputs[0].shape;
    params.parameter("weight", {row[0]}, Initializer::constant(1));
    params.parameter("bias", {row[0]}, Initializer::constant(0));
    params.state("mean", {row[0]}, Initializer::constant(0));
    params.state("variance", {row[0]}, Initializer::constant(1));
    return inputs[0];
  }
  std::unique_ptr<LayerPlan> plan(Context& context, const PlanArgs& args) const override {
    return std::make_unique<BatchNormPlan>(context, args, options_);
  }
  OnnxValue to_onnx(const OnnxLayer& layer) const override {
    return layer.graph.add("BatchNormalization",
                           {layer.inputs[0], layer.params[0], layer.params[1], layer.state[0], layer.state[1]},
                           {{"epsilon", static_cast<float>(options_.epsilon)}});
  }

 private:
  Options options_;
};

}  // namespace
}  // namespace millrace

MILLRACE_REGISTER_LAYER(batch_norm, BatchNorm);
