// Convolutions on CUDA, by cuDNN. Bias and activation follow in a kernel of our own, which keeps a NaN; gradients that
// are added or scaled are made aside first, because the scale is read from the device's memory.
#include "millrace/core/kernels/images/convolution.h"

#include "millrace/core/cuda/cudnn_convolution.h"
#include "millrace/core/cuda/kernels.h"
#include "millrace/core/cuda/state.h"
#include "millrace/core/export.h"
#include "millrace/core/kernels/images/channels.h"
#include "millrace/core/parallel.h"

namespace millrace::cuda {

namespace {

using Pass = ConvolutionPass;

// y = activation(y + bias), with one bias for each channel, or null.
template <class T>
struct FinishImages {
  T* y;
  const T* bias;
  int64_t channels, pixels;
  FusedActivation activation;
  MILLRACE_HD void operator()(int64_t i) const {
    const T value = bias != nullptr ? y[i] + bias[i / pixels % channels] : y[i];
    y[i] = activated(value, activation);
  }
};

// to = beta * to + alpha * from; `from` may be `to` if beta is 0.
template <class T>
struct Store {
  const T* from;
  T* to;
  T beta;
  const float* alpha;
  MILLRACE_HD void operator()(int64_t i) const {
    const T scaled = alpha != nullptr ? static_cast<T>(*alpha) * from[i] : from[i];
    to[i] = beta == T(0) ? scaled : beta * to[i] + scaled;
  }
};

void store(Context& context, DType dtype, const void* from, const Destination& to) {
  dispatch_float(dtype, [&]<class T>() {
    launch_for_each(context.cuda(), to.view.elements(),
                    Store<T>{static_cast<const T*>(from), to.view.as<T>(), static_cast<T>(to.beta), to.alpha});
  });
}

// A pass of the library and the memory that it shares with all others on its stream.
class OnStream {
 public:
  OnStream(Context& context, const ConvolutionSpec& spec, Pass pass)
      : pass_(context.cuda().cudnn(), target(context, spec), spec, pass) {
    if (pass_.workspace() == 0) return;
    const size_t before = context.cuda().workspace()->bytes();
    workspace_ = context.cuda().workspace(pass_.workspace());
    if (workspace_->bytes() > before) bytes_ = workspace_->bytes();
  }
  // Of a workspace that was made for this pass, as those before were too small.
  size_t bytes() const { return bytes_; }
  void run(Context& context, const void* x, const void* weight, const void* y) const {
    State& state = context.cuda();
    const DeviceGuard guard(state.device());
    pass_.run(state.cudnn_handle(),
              {.x = x, .weight = weight, .y = y, .workspace = workspace_ ? workspace_->data() : nullptr});
  }

 private:
  // Below so many products, tensor cores gain less than it costs to bring images into their order and back. On an H200
  // the engines of full width took 0.4 to 1 of the time at 1e8 products, those of tensor cores 0.1 to 1 at 2e8.
  static constexpr int64_t kFewProducts = int64_t{1} << 27;

  static CudnnTarget target(Context& context, const ConvolutionSpec& spec) {
    const bool rounds = spec.dtype == DType::f32 && spec.batch > kFewProducts / spec.products();
    return {.handle = context.cuda().cudnn_handle(), .precision = rounds ? context.precision() : Precision::float32};
  }

  CudnnConvolution pass_;
  std::shared_ptr<const Memory> workspace_;
  size_t bytes_ = 0;
};

class CudaConvolution final : public Convolution {
 public:
  CudaConvolution(Context& context, const ConvolutionSpec& spec, bool bias, FusedActivation activation)
      : spec_(spec), bias_(bias), activation_(activation), pass_(context, spec, Pass::forward) {}

  void run(Context& context, const ConvolutionArgs& args) override {
    pass_.run(context, args.x, args.weight, args.y);
    if (!bias_ && activation_ == FusedActivation::none) return;
    const Shape y = spec_.output().shape;
    dispatch_float(spec_.dtype, [&]<class T>() {
      launch_for_each(context.cuda(), y.elements(),
                      FinishImages<T>{static_cast<T*>(args.y), bias_ ? static_cast<const T*>(args.bias) : nullptr, y[1],
                                      y[2] * y[3], activation_});
    });
  }
  size_t bytes() const override { return pass_.bytes(); }

 private:
  ConvolutionSpec spec_;
  bool bias_;
  FusedActivation activation_;
  OnStream pass_;
};

class CudaInputGradient final : public Convolution {
 public:
  CudaInputGradient(Context& context, const ConvolutionSpec& spec, float beta)
      : dtype_(spec.dtype), pass_(context, spec, Pass::input_gradient) {
    if (beta != 0) aside_ = Memory(context.device(), spec.input().bytes());
  }

  void run(Context& context, const ConvolutionArgs& args) override {
    void* const gradient = aside_.bytes() > 0 ? aside_.data() : args.dx.view.data();
    pass_.run(context, gradient, args.weight, args.dy);
    if (gradient != args.dx.view.data() || args.dx.alpha != nullptr) store(context, dtype_, gradient, args.dx);
  }
  size_t bytes() const override { return pass_.bytes() + aside_.bytes(); }

 private:
  DType dtype_;
  OnStream pass_;
  Memory aside_;  // the gradient, if it is added to other values
};

class CudaWeightGradient final : public Convolution {
 public:
  CudaWeightGradient(Context& context, const ConvolutionSpec& spec, bool bias)
      : dtype_(spec.dtype),
        channels_{spec.batch, spec.out_channels, spec.height.out() * spec.width.out(), spec.dtype},
        pass_(context, spec, Pass::weight_gradient),
        aside_(context.device(), spec.weight().bytes()),
        sums_(context.device(), bias ? millrace::channel_sum_scratch(context.device(), channels_) : 0) {}

  void run(Context& context, const ConvolutionArgs& args) override {
    if (args.dweight) {
      const bool direct = args.dweight.beta == 0 && args.dweight.alpha == nullptr;
      void* const gradient = direct ? args.dweight.view.data() : aside_.data();
      pass_.run(context, args.x, gradient, args.dy);
      if (!direct) store(context, dtype_, gradient, args.dweight);
    }
    if (args.dbias) millrace::channel_sum(context, channels_, args.dy, args.dbias, sums_.data());
  }
  size_t bytes() const override { return pass_.bytes() + aside_.bytes() + sums_.bytes(); }

 private:
  DType dtype_;
  ChannelSpec channels_;  // the shape of dy
  OnStream pass_;
  Memory aside_, sums_;
};

}  // namespace

std::unique_ptr<Convolution> make_convolution(Context& context, const ConvolutionSpec& spec,
                                              const ConvolutionOptions& options) {
  const DeviceGuard guard(context.cuda().device());
  switch (options.pass) {
    case Pass::forward: break;
    case Pass::input_gradient: return std::make_unique<CudaInputGradient>(context, spec, options.beta);
    case Pass::weight_gradient: return std::make_unique<CudaWeightGradient>(context, spec, options.bias);
  }
  return std::make_unique<CudaConvolution>(context, spec, options.bias, options.activation);
}

}  // namespace millrace::cuda
