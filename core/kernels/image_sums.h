// Sums over all pixels of each channel of a batch, in double and in one order: what CUDA's kernels run.
//
// Values are (batch, channels, pixels); a vector is an image of one pixel. The images are cut into at most kSumBlocks
// blocks. A part is one channel of one block: its lanes add it up, then the parts of a channel are added in order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "millrace/core/hd.h"
#include "millrace/core/lanes.h"
#include "millrace/core/sizes.h"

namespace millrace::cuda {

inline namespace MILLRACE_UNIT {

inline constexpr int64_t kSumBlocks = 64;
// Values of a channel in a block, at least, if there are so many.
inline constexpr int64_t kSumBlock = 4096;

struct ChannelPlaces {
  int64_t batch = 0, channels = 0, pixels = 0;

  // Images of a block.
  int64_t images() const { return std::max(ceil_div(batch, kSumBlocks), ceil_div(kSumBlock, pixels)); }
  int64_t blocks() const { return ceil_div(batch, images()); }
};

enum class SumOf : uint8_t {
  values,   // x
  squares,  // (x - mean)^2
  slopes,   // dy, and dy (x - mean)
};

// Row i of the lanes is channel i % channels of block i / channels.
template <class T>
struct PartSums {
  ChannelPlaces places;
  SumOf what = SumOf::values;
  const T* x = nullptr;
  int64_t x_stride = 0;
  const T* dy = nullptr;
  int64_t dy_stride = 0;
  const T* mean = nullptr;
  int64_t images = 0;  // places.images()
  SumPair* parts = nullptr;

  template <class Lanes>
  MILLRACE_HD void operator()(int64_t part, const Lanes& lanes) const {
    const int64_t channel = part % places.channels, first = part / places.channels * images,
                  left = places.batch - first;
    const SumPair sums = lanes.sum(left < images ? left : images, places.pixels,
                                   [&](int64_t image, int64_t pixel) { return term(first + image, channel, pixel); });
    if (lanes.first()) parts[part] = sums;
  }

  MILLRACE_HD SumPair term(int64_t image, int64_t channel, int64_t pixel) const {
    const int64_t at = channel * places.pixels + pixel;
    const T from = x[image * x_stride + at];
    if (what == SumOf::values) return {static_cast<double>(from), 0};
    const auto distance = static_cast<double>(from - mean[channel]);
    if (what == SumOf::squares) return {distance * distance, 0};
    const auto slope = static_cast<double>(dy[image * dy_stride + at]);
    return {slope, slope * distance};
  }
};

// The sums of a channel.
struct ChannelTotals {
  const SumPair* parts;
  int64_t blocks, channels;
  MILLRACE_HD SumPair of(int64_t channel) const {
    SumPair sums;
    for (int64_t block = 0; block < blocks; ++block) sums += parts[block * channels + channel];
    return sums;
  }
};

inline size_t channel_sums_scratch(const ChannelPlaces& places) {
  return static_cast<size_t>(places.blocks() * places.channels) * sizeof(SumPair);
}

// Adds up the parts; what reads the totals comes next. `launch(count, body)` runs body(i) for i below count, and
// `launch.rows(count, columns, body)` runs body(i, lanes) with lanes for so many columns: all of it before the next.
template <class T, class Launch>
ChannelTotals sum_channels(PartSums<T> body, void* scratch, const Launch& launch) {
  const ChannelPlaces& places = body.places;
  body.images = places.images();
  body.parts = static_cast<SumPair*>(scratch);
  launch.rows(places.blocks() * places.channels, body.images * places.pixels, body);
  return {body.parts, places.blocks(), places.channels};
}

}  // namespace MILLRACE_UNIT
}  // namespace millrace::cuda
