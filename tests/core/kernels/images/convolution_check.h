// Convolutions computed from their definition, in double and with images in the order of their shape; for comparison.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "millrace/core/kernels/images/convolution.h"
#include "millrace/core/random.h"
#include "millrace/core/text.h"

namespace millrace::testing {

using Values = std::vector<double>;

inline Values drawn(std::string_view name, int64_t count) {
  Values out;
  for (int64_t i = 0; i < count; ++i) {
    out.push_back(static_cast<float>(to_unit(philox64(3, fnv1a64(name), static_cast<uint64_t>(i))) * 2 - 1));
  }
  return out;
}

// Values of images in the order of their shape, as T and channels last; and back.
template <class T>
std::vector<T> channels_last(const Values& values, const Shape& batch) {
  std::vector<T> out(values.size());
  const int64_t channels = batch[1], pixels = batch[2] * batch[3];
  for (int64_t i = 0; i < batch[0]; ++i) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t p = 0; p < pixels; ++p) {
        out[static_cast<size_t>((i * pixels + p) * channels + c)] =
            static_cast<T>(values[static_cast<size_t>((i * channels + c) * pixels + p)]);
      }
    }
  }
  return out;
}
template <class T>
Values in_order(const std::vector<T>& values, const Shape& batch) {
  Values out(values.size());
  const int64_t channels = batch[1], pixels = batch[2] * batch[3];
  for (int64_t i = 0; i < batch[0]; ++i) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t p = 0; p < pixels; ++p) {
        out[static_cast<size_t>((i * channels + c) * pixels + p)] =
            static_cast<double>(values[static_cast<size_t>((i * pixels + p) * channels + c)]);
      }
    }
  }
  return out;
}

struct Reference {
  ConvolutionSpec spec;
  Values x, weight, bias, dy;
  Values y, dx, dweight, dbias;

  explicit Reference(const ConvolutionSpec& of)
      : spec(of),
        x(drawn("x", of.input().shape.elements())),
        weight(drawn("weight", of.weight().shape.elements())),
        bias(drawn("bias", of.out_channels)),
        dy(drawn("dy", of.output().shape.elements())),
        y(dy.size()),
        dx(x.size()),
        dweight(weight.size()),
        dbias(bias.size()) {
    const Shape in = of.input().shape, out = of.output().shape, kernel = of.weight().shape;
    const int64_t outs = of.out_channels / of.groups;
    for (int64_t image = 0; image < out[0]; ++image) {
      for (int64_t channel = 0; channel < out[1]; ++channel) {
        for (int64_t h = 0; h < out[2]; ++h) {
          for (int64_t w = 0; w < out[3]; ++w) {
            const auto at = static_cast<size_t>(((image * out[1] + channel) * out[2] + h) * out[3] + w);
            y[at] = bias[static_cast<size_t>(channel)];
            dbias[static_cast<size_t>(channel)] += dy[at];
            for (int64_t c = 0; c < kernel[1]; ++c) {
              for (int64_t i = 0; i < kernel[2]; ++i) {
                for (int64_t j = 0; j < kernel[3]; ++j) {
                  const int64_t row = h * of.height.stride + i * of.height.dilation - of.height.before;
                  const int64_t column = w * of.width.stride + j * of.width.dilation - of.width.before;
                  if (row < 0 || row >= in[2] || column < 0 || column >= in[3]) continue;
                  const int64_t source = channel / outs * kernel[1] + c;
                  const auto from = static_cast<size_t>(((image * in[1] + source) * in[2] + row) * in[3] + column);
                  const auto k = static_cast<size_t>(((channel * kernel[1] + c) * kernel[2] + i) * kernel[3] + j);
                  y[at] += x[from] * weight[k];
                  dx[from] += dy[at] * weight[k];
                  dweight[k] += dy[at] * x[from];
                }
              }
            }
          }
        }
      }
    }
  }
};

// What the kernels give for the same values.
template <class T>
class ConvolutionRun {
 public:
  explicit ConvolutionRun(const Reference& reference, int threads = 2)
      : reference_(reference), spec_(reference.spec), executor_(threads), context_(Device::cpu(), executor_) {
    spec_.dtype = DTypeOf<T>::value;
  }

  Values forward(bool bias = true, FusedActivation activation = FusedActivation::none) {
    const auto pass = make_convolution(context_, spec_, {.bias = bias, .activation = activation});
    std::vector<T> y(reference_.y.size(), std::nanf(""));
    const std::vector<T> x = images(reference_.x, spec_.input()), weight = plain(reference_.weight),
                         biases = plain(reference_.bias);
    pass->run(context_,
              {.x = x.data(), .weight = weight.data(), .bias = bias ? biases.data() : nullptr, .y = y.data()});
    return in_order(y, spec_.output().shape);
  }
  // With what is there before; none: nothing may be read.
  Values input_gradient(const Values& before = {}, float alpha = 1) {
    const auto pass = make_convolution(context_, spec_,
                                       {.pass = ConvolutionPass::input_gradient, .beta = before.empty() ? 0.0F : 1.0F});
    std::vector<T> dx(reference_.dx.size(), std::nanf(""));
    if (!before.empty()) dx = images(before, spec_.input());
    const std::vector<T> dy = images(reference_.dy, spec_.output()), weight = plain(reference_.weight);
    pass->run(context_,
              {.weight = weight.data(), .dy = dy.data(), .dx = destination(dx, spec_.input().shape, before, alpha)});
    return in_order(dx, spec_.input().shape);
  }
  struct WeightGradient {
    Values weight, bias;
  };
  WeightGradient weight_gradient(const Values& weight_before = {}, const Values& bias_before = {}, float alpha = 1) {
    const auto pass = make_convolution(context_, spec_, {.pass = ConvolutionPass::weight_gradient, .bias = true});
    std::vector<T> weight(reference_.weight.size(), std::nanf("")), bias(reference_.bias.size(), std::nanf(""));
    if (!weight_before.empty()) weight = plain(weight_before);
    if (!bias_before.empty()) bias = plain(bias_before);
    const std::vector<T> x = images(reference_.x, spec_.input()), dy = images(reference_.dy, spec_.output());
    pass->run(context_, {.x = x.data(),
                         .dy = dy.data(),
                         .dweight = destination(weight, spec_.weight().shape, weight_before, alpha),
                         .dbias = destination(bias, Shape{spec_.out_channels}, bias_before, alpha)});
    return {Values(weight.begin(), weight.end()), Values(bias.begin(), bias.end())};
  }

 private:
  static std::vector<T> plain(const Values& values) { return std::vector<T>(values.begin(), values.end()); }
  static std::vector<T> images(const Values& values, const TensorSpec& batch) {
    return channels_last<T>(values, batch.shape);
  }
  static Destination destination(std::vector<T>& values, const Shape& shape, const Values& before, const float& alpha) {
    return {.view = TensorView(values.data(), DTypeOf<T>::value, shape),
            .beta = before.empty() ? 0.0F : 1.0F,
            .alpha = alpha == 1 ? nullptr : &alpha};
  }

  const Reference& reference_;
  ConvolutionSpec spec_;
  Executor executor_;
  Context context_;
};

inline void expect_near(const Values& got, const Values& expected, double tolerance, const std::string& what) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], expected[i], tolerance * std::max(1.0, std::abs(expected[i]))) << what << " at " << i;
  }
}

inline Values times(const Values& values, double factor, const Values& more) {
  Values out;
  for (size_t i = 0; i < values.size(); ++i) out.push_back(values[i] * factor + more[i]);
  return out;
}

// All passes, written and added to what is there.
template <class T>
void expect_like_reference(const ConvolutionSpec& spec, double tolerance, int threads = 2) {
  const Reference reference(spec);
  ConvolutionRun<T> run(reference, threads);
  const std::string what = cat(spec.input().text(), " with ", spec.weight().text());
  expect_near(run.forward(), reference.y, tolerance, what + ": y");
  expect_near(run.input_gradient(), reference.dx, tolerance, what + ": dx");
  const auto gradient = run.weight_gradient();
  expect_near(gradient.weight, reference.dweight, tolerance, what + ": dweight");
  expect_near(gradient.bias, reference.dbias, tolerance, what + ": dbias");

  expect_near(run.input_gradient(reference.x, -0.5F), times(reference.dx, -0.5, reference.x), tolerance, what + ": dx");
  expect_near(run.input_gradient({}, 2), times(reference.dx, 2, Values(reference.dx.size())), tolerance, what + ": dx");
  const auto more = run.weight_gradient(reference.weight, reference.bias, -0.5F);
  expect_near(more.weight, times(reference.dweight, -0.5, reference.weight), tolerance, what + ": dweight");
  expect_near(more.bias, times(reference.dbias, -0.5, reference.bias), tolerance, what + ": dbias");
}

// (images, channels, size) by `kernel` windows of `filters`.
inline ConvolutionSpec square(int64_t batch, int64_t channels, int64_t size, int64_t filters, int64_t kernel,
                              int64_t padding = 0, int64_t stride = 1) {
  ConvolutionSpec spec;
  spec.batch = batch, spec.in_channels = channels, spec.out_channels = filters;
  spec.height = spec.width = {.in = size, .kernel = kernel, .stride = stride, .before = padding, .after = padding};
  return spec;
}

// Shapes at which a way to compute might go wrong.
inline std::vector<ConvolutionSpec> odd_convolutions() {
  std::vector<ConvolutionSpec> out = {
      square(1, 1, 1, 1, 1),         square(1, 1, 5, 1, 3),        square(3, 1, 28, 20, 5),
      square(2, 20, 12, 50, 5),      square(5, 3, 9, 16, 3, 1),    square(2, 7, 13, 11, 3, 1),
      square(4, 16, 8, 32, 3, 1, 2), square(3, 64, 4, 17, 1),      square(3, 5, 7, 8, 1, 0, 2),
      square(2, 3, 20, 8, 7, 3, 2),  square(2, 2, 6, 3, 6),        square(2, 2, 5, 3, 5, 4),
      square(33, 2, 6, 3, 3, 1),     square(64, 16, 16, 16, 3, 1),
  };
  ConvolutionSpec uneven;
  uneven.batch = 3, uneven.in_channels = 4, uneven.out_channels = 6;
  uneven.height = {.in = 9, .kernel = 3, .stride = 2, .before = 0, .after = 1};
  uneven.width = {.in = 12, .kernel = 5, .stride = 3, .dilation = 2, .before = 1, .after = 3};
  out.push_back(uneven);
  uneven.groups = 2;
  out.push_back(uneven);
  for (const auto& [in, filters, groups] : {std::tuple{8, 8, 8}, {20, 20, 20}, {6, 12, 6}, {32, 16, 4}, {6, 10, 2}}) {
    ConvolutionSpec grouped = square(4, in, 10, filters, 3, 1);
    grouped.groups = groups;
    out.push_back(grouped);
  }
  return out;
}

}  // namespace millrace::testing
