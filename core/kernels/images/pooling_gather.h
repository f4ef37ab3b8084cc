// The bodies of CUDA's pooling kernels. Each call makes one value and reads all that it needs, so that no two threads
// add to the same value. Images are (batch, channels, height, width) in that order; `stride` is from one image to the
// next.
#pragma once

#include <cstdint>

#include "millrace/core/export.h"
#include "millrace/core/kernels/images/pooling.h"

namespace millrace::cuda {

inline namespace MILLRACE_UNIT {

// Windows along height or width.
struct PoolAxis {
  int64_t in = 0, out = 0, kernel = 1, stride = 1, dilation = 1, before = 0;

  explicit PoolAxis(const ConvolutionSpec::Axis& axis)
      : in(axis.in),
        out(axis.out()),
        kernel(axis.kernel),
        stride(axis.stride),
        dilation(axis.dilation),
        before(axis.before) {}

  // The pixel of value `k` of a window.
  MILLRACE_HD int64_t pixel(int64_t window, int64_t k) const { return window * stride - before + k * dilation; }
  // The values of a window that are in the image: from begin() on, and before end().
  MILLRACE_HD int64_t begin(int64_t window) const {
    const int64_t at = pixel(window, 0);
    return at < 0 ? (-at + dilation - 1) / dilation : 0;
  }
  MILLRACE_HD int64_t end(int64_t window) const {
    const int64_t inside = (in - pixel(window, 0) + dilation - 1) / dilation;
    return inside < kernel ? inside : kernel;
  }
  MILLRACE_HD int64_t held(int64_t window) const { return end(window) - begin(window); }
  // The first and the last window that may cover a pixel.
  MILLRACE_HD int64_t first_window(int64_t at) const {
    const int64_t behind = at + before - (kernel - 1) * dilation;
    return behind > 0 ? (behind + stride - 1) / stride : 0;
  }
  MILLRACE_HD int64_t last_window(int64_t at) const {
    const int64_t last = (at + before) / stride;
    return last < out ? last : out - 1;
  }
  // Which value of such a window the pixel is; -1: it lies between two values.
  MILLRACE_HD int64_t value(int64_t at, int64_t window) const {
    const int64_t distance = at + before - window * stride;
    return distance % dilation == 0 ? distance / dilation : -1;
  }
};

// A channel of an image, and a place in the channel.
struct PoolPlace {
  int64_t image, channel, high, wide;
  MILLRACE_HD PoolPlace(int64_t i, int64_t channels, int64_t height, int64_t width)
      : image(i / width / height / channels),
        channel(i / width / height % channels),
        high(i / width % height),
        wide(i % width) {}
};

// Index i is a value of y.
template <class T>
struct MaxPool {
  PoolAxis height, width;
  int64_t channels;
  const T* x;
  int64_t x_stride;
  T* y;
  int64_t y_stride;
  int32_t* taken;  // may be null

  MILLRACE_HD void operator()(int64_t i) const {
    const PoolPlace to(i, channels, height.out, width.out);
    const T* const from = x + to.image * x_stride + to.channel * height.in * width.in;
    T most = T(0);
    int64_t number = -1;
    const int64_t first_w = width.begin(to.wide), end_h = height.end(to.high), end_w = width.end(to.wide);
    MILLRACE_ROLLED
    for (int64_t h = height.begin(to.high); h < end_h; ++h) {
      const T* const line = from + height.pixel(to.high, h) * width.in;
      MILLRACE_ROLLED
      for (int64_t w = first_w; w < end_w; ++w) {
        const T value = line[width.pixel(to.wide, w)];
        // A NaN is larger than every number, and the first NaN stays.
        if (number >= 0 && !(value > most) && !(value != value && most == most)) continue;
        most = value;
        number = h * width.kernel + w;
      }
    }
    y[to.image * y_stride + (to.channel * height.out + to.high) * width.out + to.wide] = most;
    if (taken != nullptr) taken[i] = static_cast<int32_t>(number);
  }
};

template <class T>
struct AveragePool {
  PoolAxis height, width;
  int64_t channels;
  const T* x;
  int64_t x_stride;
  T* y;
  int64_t y_stride;

  MILLRACE_HD void operator()(int64_t i) const {
    const PoolPlace to(i, channels, height.out, width.out);
    const T* const from = x + to.image * x_stride + to.channel * height.in * width.in;
    T sum = T(0);
    const int64_t first_w = width.begin(to.wide), end_h = height.end(to.high), end_w = width.end(to.wide);
    MILLRACE_ROLLED
    for (int64_t h = height.begin(to.high); h < end_h; ++h) {
      const T* const line = from + height.pixel(to.high, h) * width.in;
      for (int64_t w = first_w; w < end_w; ++w) sum += line[width.pixel(to.wide, w)];
    }
    const T share = T(1) / static_cast<T>(height.held(to.high) * width.held(to.wide));
    y[to.image * y_stride + (to.channel * height.out + to.high) * width.out + to.wide] = sum * share;
  }
};

// Index i is a value of dx: the sum of what its windows give it, from the first window to the last.
template <class T>
struct PoolGradient {
  PoolAxis height, width;
  int64_t channels;
  const int32_t* taken;  // null: the pooling was an average
  const T* dy;
  int64_t dy_stride;
  T* dx;
  int64_t dx_stride;
  T beta;
  const float* alpha;

  MILLRACE_HD void operator()(int64_t i) const {
    const PoolPlace to(i, channels, height.in, width.in);
    const int64_t first = to.channel * height.out * width.out, size = channels * height.out * width.out;
    T sum = T(0);
    const int64_t last_high = height.last_window(to.high), last_wide = width.last_window(to.wide);
    MILLRACE_ROLLED
    for (int64_t high = height.first_window(to.high); high <= last_high; ++high) {
      const int64_t h = height.value(to.high, high);
      if (h < 0) continue;
      MILLRACE_ROLLED
      for (int64_t wide = width.first_window(to.wide); wide <= last_wide; ++wide) {
        const int64_t w = width.value(to.wide, wide);
        if (w < 0) continue;
        const int64_t window = first + high * width.out + wide;
        const T slope = dy[to.image * dy_stride + window];
        if (taken == nullptr) {
          sum += slope / static_cast<T>(height.held(high) * width.held(wide));
        } else if (taken[to.image * size + window] == h * width.kernel + w) {
          sum += slope;
        }
      }
    }
    const T scaled = alpha != nullptr ? static_cast<T>(*alpha) * sum : sum;
    T& target = dx[to.image * dx_stride + (to.channel * height.in + to.high) * width.in + to.wide];
    target = beta == T(0) ? scaled : beta * target + scaled;
  }
};

}  // namespace MILLRACE_UNIT
}  // namespace millrace::cuda
