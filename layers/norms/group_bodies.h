// Bodies for for_each_row_by_lanes() that normalise parts of rows, and that compute the gradients of that.
#pragma once

#include <cmath>
#include <cstdint>

#include "millrace/core/export.h"
#include "millrace/core/parallel.h"
#include "millrace/layers/norms/group_plan.h"
#include "millrace/layers/simple_layer.h"

namespace millrace {

inline namespace MILLRACE_UNIT {

// Part i is group i % groups of item i / groups.
struct PartPlaces {
  MILLRACE_HD PartPlaces(const GroupNormShape& shape, int64_t part)
      : row(shape.row(part / shape.groups)),
        first(part % shape.groups * shape.size()),
        column(shape.column(part / shape.groups) + first * shape.channel_step()),
        runs(shape.channels_last ? shape.pixels : shape.size()),
        length(shape.channels_last ? shape.size() : shape.pixels),
        step(shape.channels_last ? shape.channels : shape.pixels),
        channels_last(shape.channels_last) {}

  // The column and the channel of value k of a run.
  MILLRACE_HD int64_t column_of(int64_t run, int64_t k) const { return column + run * step + k; }
  MILLRACE_HD int64_t channel_of(int64_t run, int64_t k) const { return first + (channels_last ? k : run); }
  // The share of one value in the part's mean.
  MILLRACE_HD double share() const { return 1 / static_cast<double>(runs * length); }

  int64_t row, first, column, runs, length, step;
  bool channels_last;
};

template <class T>
struct Normalise {
  GroupNormShape shape;
  const T* x;
  int64_t x_stride;
  const T* weight;
  const T* bias;
  Target<T> y;
  T* moments;  // mean and 1 / deviation of each part; null: not wanted

  template <class Lanes>
  MILLRACE_HD void operator()(int64_t i, const Lanes& lanes) const {
    const PartPlaces part(shape, i);
    const T* const from = x + part.row * x_stride;
    const double mean = part.share() * lanes.sum(part.runs, part.length, [&](int64_t run, int64_t k) {
      return static_cast<double>(from[part.column_of(run, k)]);
    });
    const double squares = lanes.sum(part.runs, part.length, [&](int64_t run, int64_t k) {
      const double distance = static_cast<double>(from[part.column_of(run, k)]) - mean;
      return distance * distance;
    });
    const double inverse = 1 / std::sqrt(squares * part.share() + shape.epsilon);
    lanes.each(part.runs, part.length, [&](int64_t run, int64_t k) {
      const int64_t column = part.column_of(run, k), channel = part.channel_of(run, k);
      const double value = (static_cast<double>(from[column]) - mean) * inverse;
      y.store(part.row, column, static_cast<T>(value) * weight[channel] + bias[channel]);
    });
    if (moments == nullptr || !lanes.first()) return;
    moments[2 * i] = static_cast<T>(mean);
    moments[2 * i + 1] = static_cast<T>(inverse);
  }
};

// With n = (x - mean) / deviation and g = dy weight: dx = (g - mean(g) - n mean(g n)) / deviation.
template <class T>
struct NormaliseGradient {
  GroupNormShape shape;
  const T* x;
  const T* dy;
  int64_t x_stride, dy_stride;
  const T* weight;
  const T* moments;
  Target<T> dx;

  template <class Lanes>
  MILLRACE_HD void operator()(int64_t i, const Lanes& lanes) const {
    const PartPlaces part(shape, i);
    const T* const values = x + part.row * x_stride;
    const T* const slopes = dy + part.row * dy_stride;
    const T mean = moments[2 * i], inverse = moments[2 * i + 1];
    const SumPair sums = lanes.sum(part.runs, part.length, [&](int64_t run, int64_t k) {
      const int64_t column = part.column_of(run, k);
      const auto slope = static_cast<double>(slopes[column] * weight[part.channel_of(run, k)]);
      return SumPair{slope, slope * static_cast<double>((values[column] - mean) * inverse)};
    });
    const T mean_slope = static_cast<T>(sums.first * part.share());
    const T mean_product = static_cast<T>(sums.second * part.share());
    // A single value is its own mean, so its gradient is 0. A GPU rounds a multiply-add only once, so the difference
    // might not be 0.
    const bool alone = part.runs * part.length == 1;
    lanes.each(part.runs, part.length, [&](int64_t run, int64_t k) {
      const int64_t column = part.column_of(run, k);
      const T slope = slopes[column] * weight[part.channel_of(run, k)];
      const T normal = (values[column] - mean) * inverse;
      dx.store(part.row, column, alone ? T(0) : (slope - mean_slope - normal * mean_product) * inverse);
    });
  }
};

// Computes what each item adds to the gradients of weight and bias, one value for each channel.
template <class T>
struct ParameterGradients {
  GroupNormShape shape;
  const T* x;
  const T* dy;
  int64_t x_stride, dy_stride;
  const T* moments;
  T* weight;
  T* bias;

  template <class Lanes>
  MILLRACE_HD void add(int64_t item, int64_t channel, const Lanes& lanes) const {
    const int64_t row = shape.row(item), i = item * shape.channels + channel;
    const int64_t begin = shape.column(item) + channel * shape.channel_step();
    const T* const values = x + row * x_stride + begin;
    const T* const slopes = dy + row * dy_stride + begin;
    const int64_t part = item * shape.groups + channel / shape.size();
    const T mean = moments[2 * part], inverse = moments[2 * part + 1];
    const SumPair sums = lanes.sum(shape.pixels, [&](int64_t pixel) {
      const T slope = slopes[pixel * shape.pixel_step()];
      return SumPair{static_cast<double>(slope * ((values[pixel * shape.pixel_step()] - mean) * inverse)),
                     static_cast<double>(slope)};
    });
    if (!lanes.first()) return;
    weight[i] = static_cast<T>(sums.first);
    bias[i] = static_cast<T>(sums.second);
  }
  // Row i is channel i % channels of item i / channels.
  template <class Lanes>
  MILLRACE_HD void operator()(int64_t i, const Lanes& lanes) const {
    add(i / shape.channels, i % shape.channels, lanes);
  }
  // For images of one pixel, without lanes.
  MILLRACE_HD void operator()(int64_t item, int64_t channel) const { add(item, channel, OneLane{}); }
};

}  // namespace MILLRACE_UNIT
}  // namespace millrace
