#include "millrace/core/kernels/images/pooling.h"

#include <algorithm>

#include "millrace/core/cuda/kernels.h"
#include "millrace/core/sizes.h"

namespace millrace {

namespace {

using Axis = ConvolutionSpec::Axis;

// The values of a window that lie in the image, along one axis: values [begin, end) of the window. `at` is the pixel of
// the window's value 0, which may lie outside.
struct Part {
  int64_t begin, end, at;
};

Part part_of(const Axis& axis, int64_t window) {
  const int64_t at = window * axis.stride - axis.before;
  const int64_t begin = at < 0 ? ceil_div(-at, axis.dilation) : 0;
  const int64_t end = std::min(axis.kernel, ceil_div(axis.in - at, axis.dilation));
  return {begin, end, at};
}

// Goes through the windows of one image in order, and through the pixels of a window in order.
class Windows {
 public:
  explicit Windows(const PoolingSpec& spec)
      : spec_(spec), out_height_(spec.height.out()), out_width_(spec.width.out()) {}

  int64_t x_size() const { return spec_.channels * spec_.height.in * spec_.width.in; }
  int64_t y_size() const { return spec_.channels * out_height_ * out_width_; }
  int64_t lines() const { return out_height_; }

  // Calls body(y, high, wide) for each window of output line `line`: the index of its values in the output, and the
  // part of it that lies in the image.
  template <class F>
  void for_each_window(int64_t line, const F& body) const {
    const Part high = part_of(spec_.height, line);
    for (int64_t column = 0; column < out_width_; ++column) {
      body((line * out_width_ + column) * spec_.channels, high, part_of(spec_.width, column));
    }
  }

  // Calls body(x, number) for each pixel of a window: the index of its values in the image, and its number in the
  // window.
  template <class F>
  void for_each_pixel(const Part& high, const Part& wide, const F& body) const {
    for (int64_t h = high.begin; h < high.end; ++h) {
      const int64_t line = (high.at + h * spec_.height.dilation) * spec_.width.in;
      for (int64_t w = wide.begin; w < wide.end; ++w) {
        body((line + wide.at + w * spec_.width.dilation) * spec_.channels,
             static_cast<int32_t>(h * spec_.width.kernel + w));
      }
    }
  }

 private:
  PoolingSpec spec_;
  int64_t out_height_, out_width_;
};

// Loops over the channels of a pixel. They are short, so a check whether arrays overlap would cost too much: __restrict
// avoids it.

template <class T>
void take_larger(const T* __restrict values, int32_t number, int64_t channels, T* __restrict most,
                 int32_t* __restrict taken) {
  for (int64_t c = 0; c < channels; ++c) {
    // A NaN is larger than every number, and the first NaN stays.
    const bool larger = (values[c] > most[c]) | ((values[c] != values[c]) & (most[c] == most[c]));
    most[c] = larger ? values[c] : most[c];
    taken[c] = larger ? number : taken[c];
  }
}

template <class T>
void take_larger(const T* __restrict values, int64_t channels, T* __restrict most) {
  for (int64_t c = 0; c < channels; ++c) {
    const bool larger = (values[c] > most[c]) | (values[c] != values[c]);
    most[c] = larger ? values[c] : most[c];
  }
}

template <class T>
void add_where(const int32_t* __restrict numbers, int32_t number, const T* __restrict gradient, T alpha,
               int64_t channels, T* __restrict to) {
  for (int64_t c = 0; c < channels; ++c) {
    const T value = alpha * gradient[c];  // computed even if it is not used, to avoid a branch
    to[c] += numbers[c] == number ? value : T(0);
  }
}

template <class T>
void add_times(const T* __restrict values, T factor, int64_t channels, T* __restrict to) {
  for (int64_t c = 0; c < channels; ++c) to[c] += factor * values[c];
}

template <class T>
void max_of_line(const Windows& windows, int64_t line, int64_t channels, const T* x, T* y, int32_t* taken) {
  windows.for_each_window(line, [&](int64_t at, const Part& high, const Part& wide) {
    bool first = true;
    windows.for_each_pixel(high, wide, [&](int64_t from, int32_t number) {
      if (std::exchange(first, false)) {
        std::copy_n(x + from, channels, y + at);
        if (taken != nullptr) std::fill_n(taken + at, channels, number);
      } else if (taken != nullptr) {
        take_larger(x + from, number, channels, y + at, taken + at);
      } else {
        take_larger(x + from, channels, y + at);
      }
    });
  });
}

// Runs body(image, line) for all output lines of the batch.
template <class F>
void for_each_line(Context& context, const PoolingSpec& spec, int64_t lines, const F& body) {
  constexpr int64_t kWorthATask = 16384;
  const int64_t values = spec.channels * spec.width.in * spec.height.kernel;
  const int64_t at_once = std::clamp<int64_t>(kWorthATask / std::max<int64_t>(values, 1), 1, lines);
  const int64_t blocks = ceil_div(lines, at_once);
  context.executor().parallel_for(spec.batch * blocks, [&](int64_t task) {
    const int64_t begin = task % blocks * at_once;
    for (int64_t line = begin; line < std::min(lines, begin + at_once); ++line) body(task / blocks, line);
  });
}

}  // namespace

void max_pool(Context& context, const PoolingSpec& spec, const ConstTensorView& x, const TensorView& y,
              int32_t* taken) {
  if (!context.device().is_cpu()) return cuda::max_pool(context, spec, x, y, taken);
  dispatch_float(spec.dtype, [&]<class T>() {
    const Windows windows(spec);
    for_each_line(context, spec, windows.lines(), [&](int64_t image, int64_t line) {
      max_of_line(windows, line, spec.channels, x.as<T>() + image * x.stride(), y.as<T>() + image * y.stride(),
                  taken != nullptr ? taken + image * windows.y_size() : nullptr);
    });
  });
}

void average_pool(Context& context, const PoolingSpec& spec, const ConstTensorView& x, const TensorView& y) {
  if (!context.device().is_cpu()) return cuda::average_pool(context, spec, x, y);
  dispatch_float(spec.dtype, [&]<class T>() {
    const Windows windows(spec);
    for_each_line(context, spec, windows.lines(), [&](int64_t image, int64_t line) {
      const T* const from = x.as<T>() + image * x.stride();
      T* const to = y.as<T>() + image * y.stride();
      windows.for_each_window(line, [&](int64_t at, const Part& high, const Part& wide) {
        std::fill_n(to + at, spec.channels, T(0));
        windows.for_each_pixel(high, wide,
                               [&](int64_t pixel, int32_t) { add_times(from + pixel, T(1), spec.channels, to + at); });
        const T share = T(1) / static_cast<T>((high.end - high.begin) * (wide.end - wide.begin));
        for (int64_t c = 0; c < spec.channels; ++c) to[at + c] *= share;
      });
    });
  });
}

void pool_gradient(Context& context, const PoolingSpec& spec, const int32_t* taken, const ConstTensorView& dy,
                   const Destination& dx) {
  if (!context.device().is_cpu()) return cuda::pool_gradient(context, spec, taken, dy, dx);
  dispatch_float(spec.dtype, [&]<class T>() {
    const Windows windows(spec);
    const T alpha = dx.alpha != nullptr ? static_cast<T>(*dx.alpha) : T(1);
    context.executor().parallel_for(spec.batch, [&](int64_t image) {
      T* const to = dx.view.as<T>() + image * dx.view.stride();
      if (dx.beta == 0) std::fill_n(to, windows.x_size(), T(0));
      const T* const gradient = dy.as<T>() + image * dy.stride();
      const int32_t* const numbers = taken != nullptr ? taken + image * windows.y_size() : nullptr;
      for (int64_t line = 0; line < windows.lines(); ++line) {
        windows.for_each_window(line, [&](int64_t at, const Part& high, const Part& wide) {
          if (numbers != nullptr) {
            windows.for_each_pixel(high, wide, [&](int64_t from, int32_t number) {
              add_where(numbers + at, number, gradient + at, alpha, spec.channels, to + from);
            });
            return;
          }
          const T share = alpha / static_cast<T>((high.end - high.begin) * (wide.end - wide.begin));
          windows.for_each_pixel(
              high, wide, [&](int64_t pixel, int32_t) { add_times(gradient + at, share, spec.channels, to + pixel); });
        });
      }
    });
  });
}

}  // namespace millrace
