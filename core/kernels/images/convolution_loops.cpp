#include <algorithm>
#include <vector>

#include "millrace/core/kernels/epilogue.h"
#include "millrace/core/kernels/images/convolution_cpu.h"

namespace millrace::cpu {

namespace {

using T = double;

// Where values lie: images channels last, the weight in the order of its shape.
class Places {
 public:
  explicit Places(const ConvolutionSpec& spec)
      : spec_(spec),
        out_height_(spec.height.out()),
        out_width_(spec.width.out()),
        in_(spec.in_channels / spec.groups),
        out_(spec.out_channels / spec.groups) {}

  const ConvolutionSpec& spec() const { return spec_; }
  int64_t y_size() const { return out_height_ * out_width_ * spec_.out_channels; }
  int64_t x_size() const { return spec_.height.in * spec_.width.in * spec_.in_channels; }
  int64_t weight_size() const { return spec_.weight().shape.elements(); }

  // Calls body(y, x, weight) for every product of output channel `channel` in one image, with the indices of the three
  // values.
  template <class F>
  void for_each_product(int64_t channel, const F& body) const {
    const int64_t first = channel / out_ * in_;
    for (int64_t oh = 0; oh < out_height_; ++oh) {
      for (int64_t ow = 0; ow < out_width_; ++ow) {
        const int64_t y = (oh * out_width_ + ow) * spec_.out_channels + channel;
        for (int64_t kh = 0; kh < spec_.height.kernel; ++kh) {
          const int64_t ih = oh * spec_.height.stride - spec_.height.before + kh * spec_.height.dilation;
          if (ih < 0 || ih >= spec_.height.in) continue;
          for (int64_t kw = 0; kw < spec_.width.kernel; ++kw) {
            const int64_t iw = ow * spec_.width.stride - spec_.width.before + kw * spec_.width.dilation;
            if (iw < 0 || iw >= spec_.width.in) continue;
            const int64_t x = (ih * spec_.width.in + iw) * spec_.in_channels + first;
            const int64_t weight = (channel * in_ * spec_.height.kernel + kh) * spec_.width.kernel + kw;
            for (int64_t i = 0; i < in_; ++i) body(y, x + i, weight + i * spec_.height.kernel * spec_.width.kernel);
          }
        }
      }
    }
  }

 private:
  ConvolutionSpec spec_;
  int64_t out_height_, out_width_;
  int64_t in_, out_;  // channels of a group
};

void store(const std::vector<T>& sums, const Destination& to, int64_t begin) {
  const T alpha = to.alpha != nullptr ? static_cast<T>(*to.alpha) : T(1);
  store_row(sums.data(), alpha, static_cast<T>(to.beta), static_cast<const T*>(nullptr), FusedActivation::none,
            static_cast<int64_t>(sums.size()), to.view.as<T>() + begin);
}

class LoopConvolution final : public Convolution {
 public:
  LoopConvolution(const ConvolutionSpec& spec, const ConvolutionOptions& options)
      : places_(spec), pass_(options.pass), activation_(options.activation) {}

  void run(Context& context, const ConvolutionArgs& args) override {
    Executor& executor = context.executor();
    const ConvolutionSpec& spec = places_.spec();
    switch (pass_) {
      case ConvolutionPass::forward:
        return executor.parallel_for(spec.batch, [&](int64_t image) { forward(args, image); });
      case ConvolutionPass::input_gradient:
        return executor.parallel_for(spec.batch, [&](int64_t image) { input_gradient(args, image); });
      case ConvolutionPass::weight_gradient:
        return executor.parallel_for(spec.out_channels, [&](int64_t channel) { weight_gradient(args, channel); });
    }
  }

 private:
  void forward(const ConvolutionArgs& args, int64_t image) const {
    const T* weight = static_cast<const T*>(args.weight);
    const T* x = static_cast<const T*>(args.x) + image * places_.x_size();
    T* y = static_cast<T*>(args.y) + image * places_.y_size();
    const int64_t channels = places_.spec().out_channels;
    std::fill_n(y, places_.y_size(), T(0));
    for (int64_t channel = 0; channel < channels; ++channel) {
      places_.for_each_product(channel, [&](int64_t at, int64_t from, int64_t w) { y[at] += x[from] * weight[w]; });
    }
    for (int64_t pixel = 0; pixel < places_.y_size(); pixel += channels) {
      add_bias_and_activate(static_cast<const T*>(args.bias), activation_, channels, y + pixel);
    }
  }

  void input_gradient(const ConvolutionArgs& args, int64_t image) const {
    const T* weight = static_cast<const T*>(args.weight);
    const T* dy = static_cast<const T*>(args.dy) + image * places_.y_size();
    std::vector<T> dx(static_cast<size_t>(places_.x_size()));
    for (int64_t channel = 0; channel < places_.spec().out_channels; ++channel) {
      places_.for_each_product(
          channel, [&](int64_t at, int64_t from, int64_t w) { dx[static_cast<size_t>(from)] += dy[at] * weight[w]; });
    }
    store(dx, args.dx, image * places_.x_size());
  }

  void weight_gradient(const ConvolutionArgs& args, int64_t channel) const {
    const ConvolutionSpec& spec = places_.spec();
    const int64_t size = places_.weight_size() / spec.out_channels;
    std::vector<T> weight(static_cast<size_t>(size)), bias(1);
    for (int64_t image = 0; image < spec.batch; ++image) {
      const T* x = static_cast<const T*>(args.x) + image * places_.x_size();
      const T* dy = static_cast<const T*>(args.dy) + image * places_.y_size();
      places_.for_each_product(channel, [&](int64_t at, int64_t from, int64_t w) {
        weight[static_cast<size_t>(w - channel * size)] += dy[at] * x[from];
      });
      for (int64_t at = channel; at < places_.y_size(); at += spec.out_channels) bias[0] += dy[at];
    }
    if (args.dweight) store(weight, args.dweight, channel * size);
    if (args.dbias) store(bias, args.dbias, channel);
  }

  Places places_;
  ConvolutionPass pass_;
  FusedActivation activation_;
};

}  // namespace

std::unique_ptr<Convolution> make_loop_convolution(const ConvolutionSpec& spec, const ConvolutionOptions& options) {
  return std::make_unique<LoopConvolution>(spec, options);
}

}  // namespace millrace::cpu
