#include "millrace/core/kernels/batch_norm.h"

#include <algorithm>
#include <cmath>

#include "millrace/core/cuda/kernels.h"
#include "millrace/core/kernels/batch_norm_bodies.h"
#include "millrace/core/sizes.h"

namespace millrace {

namespace {

// Values that one task handles.
constexpr int64_t kBlockValues = 16384;

int64_t rows_a_block(const BatchNormSpec& spec) { return std::max<int64_t>(1, kBlockValues / spec.channels); }
int64_t blocks_of(const BatchNormSpec& spec) { return ceil_div(spec.rows, rows_a_block(spec)); }

template <class T, class V>
T* line(const V& rows, int64_t row) {
  return static_cast<T*>(rows.data) + row * rows.stride;
}

// Runs body(block, first row, end) for the blocks of rows.
template <class F>
void for_each_block(Context& context, const BatchNormSpec& spec, const F& body) {
  const int64_t rows = rows_a_block(spec);
  context.executor().parallel_for(
      blocks_of(spec), [&](int64_t block) { body(block, block * rows, std::min(spec.rows, (block + 1) * rows)); });
}

// Adds up, for each channel, what add(row, sums) puts into the sums of a block; partial has room for the sums of all.
// The totals are those of block 0.
template <class F>
void sum_channels(Context& context, const BatchNormSpec& spec, int64_t sums_a_row, double* partial, const F& add) {
  for_each_block(context, spec, [&](int64_t block, int64_t begin, int64_t end) {
    double* const sums = partial + block * sums_a_row;
    std::fill_n(sums, sums_a_row, 0.0);
    for (int64_t row = begin; row < end; ++row) add(row, sums);
  });
  for (int64_t block = 1; block < blocks_of(spec); ++block) {
    for (int64_t i = 0; i < sums_a_row; ++i) partial[i] += partial[block * sums_a_row + i];
  }
}

template <class T>
T inverse_deviation(const BatchNormSpec& spec, const NormParams& params, int64_t channel) {
  return static_cast<T>(1 /
                        std::sqrt(static_cast<double>(static_cast<const T*>(params.variance)[channel]) + spec.epsilon));
}

template <class T>
void store(double gradient, const Destination& to, int64_t channel) {
  cuda::FinishNormGradient<T>::store(gradient, to.view.as<T>(), static_cast<T>(to.beta), to.alpha, channel);
}

}  // namespace

// Two sums for each block and channel, then two values for each channel.
size_t batch_norm_scratch(Device device, const BatchNormSpec& spec) {
  if (!device.is_cpu()) return cuda::batch_norm_scratch(spec);
  return static_cast<size_t>((blocks_of(spec) + 1) * 2 * spec.channels) * sizeof(double);
}

void batch_moments(Context& context, const BatchNormSpec& spec, ConstNormRows x, void* mean, void* variance,
                   void* scratch) {
  if (!context.device().is_cpu()) return cuda::batch_moments(context, spec, x, mean, variance, scratch);
  dispatch_float(spec.dtype, [&]<class T>() {
    auto* const partial = static_cast<double*>(scratch);
    const int64_t channels = spec.channels;
    const double share = 1 / static_cast<double>(spec.rows);
    context.executor().run([&] {
      sum_channels(context, spec, channels, partial, [&](int64_t row, double* sums) {
        const T* const values = line<const T>(x, row);
        for (int64_t c = 0; c < channels; ++c) sums[c] += static_cast<double>(values[c]);
      });
      T* const means = static_cast<T*>(mean);
      for (int64_t c = 0; c < channels; ++c) means[c] = static_cast<T>(partial[c] * share);
      sum_channels(context, spec, channels, partial, [&](int64_t row, double* sums) {
        const T* const values = line<const T>(x, row);
        for (int64_t c = 0; c < channels; ++c) {
          const auto distance = static_cast<double>(values[c] - means[c]);
          sums[c] += distance * distance;
        }
      });
      T* const variances = static_cast<T*>(variance);
      for (int64_t c = 0; c < channels; ++c) variances[c] = static_cast<T>(partial[c] * share);
    });
  });
}

void batch_norm(Context& context, const BatchNormSpec& spec, ConstNormRows x, const NormParams& params, NormRows y) {
  if (!context.device().is_cpu()) return cuda::batch_norm(context, spec, x, params, y);
  dispatch_float(spec.dtype, [&]<class T>() {
    const auto* const means = static_cast<const T*>(params.mean);
    const auto* const weights = static_cast<const T*>(params.weight);
    const auto* const biases = static_cast<const T*>(params.bias);
    for_each_block(context, spec, [&](int64_t, int64_t begin, int64_t end) {
      constexpr int64_t kChannels = 256;
      T scales[kChannels];
      for (int64_t first = 0; first < spec.channels; first += kChannels) {
        const int64_t count = std::min(kChannels, spec.channels - first);
        for (int64_t c = 0; c < count; ++c) {
          scales[c] = inverse_deviation<T>(spec, params, first + c) * weights[first + c];
        }
        for (int64_t row = begin; row < end; ++row) {
          const T* const from = line<const T>(x, row) + first;
          T* const to = line<T>(y, row) + first;
          for (int64_t c = 0; c < count; ++c) to[c] = (from[c] - means[first + c]) * scales[c] + biases[first + c];
        }
      }
    });
  });
}

// With n = (x - mean) / deviation: dbias = sum dy, dweight = sum dy n, and
// dx = weight / deviation * (dy - dbias / rows - n dweight / rows).
void batch_norm_gradient(Context& context, const BatchNormSpec& spec, ConstNormRows x, ConstNormRows dy,
                         const NormParams& params, const BatchNormGradients& gradients, void* scratch) {
  if (!context.device().is_cpu()) {
    return cuda::batch_norm_gradient(context, spec, x, dy, params, gradients, scratch);
  }
  dispatch_float(spec.dtype, [&]<class T>() {
    const int64_t channels = spec.channels;
    const auto* const means = static_cast<const T*>(params.mean);
    const auto* const weights = static_cast<const T*>(params.weight);
    auto* const partial = static_cast<double*>(scratch);
    context.executor().run([&] {
      sum_channels(context, spec, 2 * channels, partial, [&](int64_t row, double* sums) {
        const T* const values = line<const T>(x, row);
        const T* const slopes = line<const T>(dy, row);
        for (int64_t c = 0; c < channels; ++c) {
          sums[c] += static_cast<double>(slopes[c]);
          sums[channels + c] += static_cast<double>(slopes[c]) * static_cast<double>(values[c] - means[c]);
        }
      });
      // dx = slope (dy - mean of dy - steep (x - mean)). Only differences are scaled, so dx is exactly 0 if there is
      // one row.
      auto* const slope = reinterpret_cast<T*>(partial + blocks_of(spec) * 2 * channels);
      T* const steep = slope + channels;
      const double share = 1 / static_cast<double>(spec.rows);
      const double alpha = gradients.dx.alpha != nullptr ? static_cast<double>(*gradients.dx.alpha) : 1.0;
      for (int64_t c = 0; c < channels; ++c) {
        const auto inverse = static_cast<double>(inverse_deviation<T>(spec, params, c));
        slope[c] = static_cast<T>(alpha * static_cast<double>(weights[c]) * inverse);
        steep[c] = static_cast<T>(inverse * inverse * partial[channels + c] * share);
        const double dbias = partial[c], dweight = partial[channels + c] * inverse;
        partial[c] *= share;
        store<T>(dweight, gradients.weight, c);
        store<T>(dbias, gradients.bias, c);
      }
      if (!gradients.dx) return;
      for_each_block(context, spec, [&](int64_t, int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          const T* const values = line<const T>(x, row);
          const T* const slopes = line<const T>(dy, row);
          T* const to = gradients.dx.view.as<T>() + row * x.stride;
          for (int64_t c = 0; c < channels; ++c) {
            const T value = slope[c] * (slopes[c] - static_cast<T>(partial[c]) - steep[c] * (values[c] - means[c]));
            to[c] = gradients.dx.beta == 0 ? value : to[c] + value;
          }
        }
      });
    });
  });
}

}  // namespace millrace
