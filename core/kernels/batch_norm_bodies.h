// The bodies of CUDA's kernels for batch_norm.h, and the order in which they run. `launch` is as in image_sums.h.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "millrace/core/export.h"
#include "millrace/core/kernels/batch_norm.h"
#include "millrace/core/kernels/image_sums.h"

namespace millrace::cuda {

inline namespace MILLRACE_UNIT {

// Thread i is channel i: its moment is its sum times `share`.
template <class T>
struct StoreMoment {
  ChannelTotals totals;
  double share;
  T* moment;
  MILLRACE_HD void operator()(int64_t channel) const {
    moment[channel] = static_cast<T>(totals.of(channel).first * share);
  }
};

template <class T>
struct NormPointers {
  explicit NormPointers(const NormParams& params, double added)
      : mean(static_cast<const T*>(params.mean)),
        variance(static_cast<const T*>(params.variance)),
        weight(static_cast<const T*>(params.weight)),
        bias(static_cast<const T*>(params.bias)),
        epsilon(added) {}

  const T* mean;
  const T* variance;
  const T* weight;
  const T* bias;
  double epsilon;
  // Only the addition is in double: every value needs this, and many GPUs are slow in double.
  MILLRACE_HD T inverse_deviation(int64_t channel) const {
    return T(1) / std::sqrt(static_cast<T>(static_cast<double>(variance[channel]) + epsilon));
  }
};

// Thread i is value i of the batch.
template <class T>
struct ApplyNorm {
  ChannelPlaces places;
  NormPointers<T> params;
  const T* x;
  int64_t x_stride;
  T* y;
  int64_t y_stride;
  MILLRACE_HD void operator()(int64_t i) const {
    const int64_t size = places.channels * places.pixels, image = i / size, value = i % size;
    const int64_t channel = value / places.pixels;
    const T scale = params.inverse_deviation(channel) * params.weight[channel];
    y[image * y_stride + value] = (x[image * x_stride + value] - params.mean[channel]) * scale + params.bias[channel];
  }
};

// dx = slope (dy - level - steep (x - mean)), where level is the mean of dy. Only differences are scaled, so dx is
// exactly 0 if there is one row, even if a GPU rounds only once for a product and a sum.
template <class T>
struct NormTerms {
  T slope, steep, level;
};

// Thread i is channel i: the terms of its dx, and the gradients of its weight and bias if they are wanted.
template <class T>
struct FinishNormGradient {
  ChannelTotals totals;
  NormPointers<T> params;
  double share;  // 1 over the number of a channel's values
  const float* dx_alpha;
  NormTerms<T>* terms;
  T* dweight;
  T dweight_beta;
  const float* dweight_alpha;
  T* dbias;
  T dbias_beta;
  const float* dbias_alpha;

  MILLRACE_HD void operator()(int64_t channel) const {
    const SumPair sums = totals.of(channel);
    const auto inverse = static_cast<double>(params.inverse_deviation(channel));
    const double alpha = dx_alpha != nullptr ? static_cast<double>(*dx_alpha) : 1.0;
    terms[channel] = {static_cast<T>(alpha * static_cast<double>(params.weight[channel]) * inverse),
                      static_cast<T>(inverse * inverse * sums.second * share), static_cast<T>(sums.first * share)};
    // The weight has been read before: its gradient may go to the same place.
    store(sums.second * inverse, dweight, dweight_beta, dweight_alpha, channel);
    store(sums.first, dbias, dbias_beta, dbias_alpha, channel);
  }
  MILLRACE_HD static void store(double gradient, T* to, T beta, const float* alpha, int64_t channel) {
    if (to == nullptr) return;
    const T scaled = static_cast<T>((alpha != nullptr ? static_cast<double>(*alpha) : 1.0) * gradient);
    to[channel] = beta == T(0) ? scaled : to[channel] + scaled;
  }
};

// Thread i is value i of the batch.
template <class T>
struct ApplyNormGradient {
  ChannelPlaces places;
  const NormTerms<T>* terms;
  const T* mean;
  const T* x;
  int64_t x_stride;
  const T* dy;
  int64_t dy_stride;
  T* dx;
  int64_t dx_stride;
  T beta;
  MILLRACE_HD void operator()(int64_t i) const {
    const int64_t size = places.channels * places.pixels, image = i / size, at = i % size;
    const int64_t channel = at / places.pixels;
    const NormTerms<T> of = terms[channel];
    const T distance = x[image * x_stride + at] - mean[channel];
    const T value = of.slope * (dy[image * dy_stride + at] - of.level - of.steep * distance);
    T& target = dx[image * dx_stride + at];
    target = beta == T(0) ? value : target + value;
  }
};

// The batch as images; a vector is an image of one pixel.
inline ChannelPlaces places_of(const BatchNormSpec& spec) {
  return {spec.rows / spec.pixels, spec.channels, spec.pixels};
}
template <class Rows>
int64_t image_stride(const BatchNormSpec& spec, const Rows& rows) {
  return spec.pixels > 1 ? spec.channels * spec.pixels : rows.stride;
}

template <class T, class Launch>
void run_batch_moments(const BatchNormSpec& spec, const ConstNormRows& x, T* mean, T* variance, void* scratch,
                       const Launch& launch) {
  PartSums<T> sums{.places = places_of(spec),
                   .what = SumOf::values,
                   .x = static_cast<const T*>(x.data),
                   .x_stride = image_stride(spec, x)};
  const double share = 1 / static_cast<double>(spec.rows);
  launch(spec.channels, StoreMoment<T>{sum_channels(sums, scratch, launch), share, mean});
  sums.what = SumOf::squares;
  sums.mean = mean;
  launch(spec.channels, StoreMoment<T>{sum_channels(sums, scratch, launch), share, variance});
}

template <class T, class Launch>
void run_batch_norm(const BatchNormSpec& spec, const ConstNormRows& x, const NormParams& params, const NormRows& y,
                    const Launch& launch) {
  launch(spec.rows * spec.channels,
         ApplyNorm<T>{places_of(spec), NormPointers<T>(params, spec.epsilon), static_cast<const T*>(x.data),
                      image_stride(spec, x), static_cast<T*>(y.data), image_stride(spec, y)});
}

inline size_t norm_scratch(const BatchNormSpec& spec) {
  // The terms are doubles at most.
  return channel_sums_scratch(places_of(spec)) + static_cast<size_t>(spec.channels) * sizeof(NormTerms<double>);
}

template <class T, class Launch>
void run_batch_norm_gradient(const BatchNormSpec& spec, const ConstNormRows& x, const ConstNormRows& dy,
                             const NormParams& params, const BatchNormGradients& gradients, void* scratch,
                             const Launch& launch) {
  const ChannelPlaces places = places_of(spec);
  const NormPointers<T> pointers(params, spec.epsilon);
  const PartSums<T> sums{.places = places,
                         .what = SumOf::slopes,
                         .x = static_cast<const T*>(x.data),
                         .x_stride = image_stride(spec, x),
                         .dy = static_cast<const T*>(dy.data),
                         .dy_stride = image_stride(spec, dy),
                         .mean = pointers.mean};
  auto* const terms = reinterpret_cast<NormTerms<T>*>(static_cast<std::byte*>(scratch) + channel_sums_scratch(places));
  const auto target = [](const Destination& to) { return to ? to.view.as<T>() : nullptr; };
  launch(spec.channels,
         FinishNormGradient<T>{sum_channels(sums, scratch, launch), pointers, 1 / static_cast<double>(spec.rows),
                               gradients.dx.alpha, terms, target(gradients.weight),
                               static_cast<T>(gradients.weight.beta), gradients.weight.alpha, target(gradients.bias),
                               static_cast<T>(gradients.bias.beta), gradients.bias.alpha});
  if (!gradients.dx) return;
  launch(spec.rows * spec.channels,
         ApplyNormGradient<T>{places, terms, pointers.mean, sums.x, sums.x_stride, sums.dy, sums.dy_stride,
                              gradients.dx.view.as<T>(), sums.x_stride, static_cast<T>(gradients.dx.beta)});
}

}  // namespace MILLRACE_UNIT
}  // namespace millrace::cuda
