// Sums over all pixels of each channel of a batch, in double and in one order: what CUDA's kernels run.
//
// Values are (batch, channels, pixels); a vector is an image of one pixel. Each channel's values, one image after the
// other, are cut into at most kSumBlocks blocks, and each block is shared out to kSumLanes lanes that take every so
// manieth value, so that neighbouring threads read neighbouring values. Lanes are joined first, then blocks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "millrace/core/hd.h"
#include "millrace/core/lanes.h"
#include "millrace/core/sizes.h"

namespace millrace::cuda {

inline namespace MILLRACE_UNIT {

inline constexpr int64_t kSumLanes = 64;
inline constexpr int64_t kSumBlocks = 64;
// Values of a block, at least.
inline constexpr int64_t kSumBlock = 64 * kSumLanes;

struct ChannelPlaces {
  int64_t batch = 0, channels = 0, pixels = 0;

  int64_t count() const { return batch * pixels; }  // of a channel's values
  // Values of a block.
  int64_t block() const {
    const int64_t most = ceil_div(ceil_div(count(), kSumBlocks), kSumLanes) * kSumLanes;
    return most > kSumBlock ? most : kSumBlock;
  }
  int64_t blocks() const { return ceil_div(count(), block()); }
};

enum class SumOf : uint8_t {
  values,   // x
  squares,  // (x - mean)^2
  slopes,   // dy, and dy (x - mean)
};

// Thread i is lane i % kSumLanes of part i / kSumLanes; part j is channel j % channels of block j / channels.
template <class T>
struct LaneSums {
  ChannelPlaces places;
  int64_t block = 0;  // places.block()
  SumOf what = SumOf::values;
  const T* x = nullptr;
  int64_t x_stride = 0;
  const T* dy = nullptr;
  int64_t dy_stride = 0;
  const T* mean = nullptr;
  SumPair* lanes = nullptr;

  MILLRACE_HD void operator()(int64_t thread) const {
    const int64_t part = thread / kSumLanes, channel = part % places.channels;
    const int64_t begin = part / places.channels * block, all = places.batch * places.pixels;
    const int64_t end = all < begin + block ? all : begin + block;
    int64_t image = (begin + thread % kSumLanes) / places.pixels;
    int64_t pixel = (begin + thread % kSumLanes) % places.pixels;
    const int64_t images_on = kSumLanes / places.pixels, pixels_on = kSumLanes % places.pixels;
    SumPair sums;
    MILLRACE_ROLLED
    for (int64_t i = begin + thread % kSumLanes; i < end; i += kSumLanes) {
      add(image, channel, pixel, sums);
      image += images_on;
      pixel += pixels_on;
      if (pixel < places.pixels) continue;
      pixel -= places.pixels;
      ++image;
    }
    lanes[thread] = sums;
  }

  MILLRACE_HD void add(int64_t image, int64_t channel, int64_t pixel, SumPair& sums) const {
    const int64_t at = channel * places.pixels + pixel;
    const T from = x[image * x_stride + at];
    if (what == SumOf::values) {
      sums.first += static_cast<double>(from);
      return;
    }
    const auto distance = static_cast<double>(from - mean[channel]);
    if (what == SumOf::squares) {
      sums.first += distance * distance;
      return;
    }
    const auto slope = static_cast<double>(dy[image * dy_stride + at]);
    sums.first += slope;
    sums.second += slope * distance;
  }
};

// Thread i joins the lanes of part i.
struct JoinLanes {
  const SumPair* lanes;
  SumPair* parts;
  MILLRACE_HD void operator()(int64_t part) const {
    SumPair sums;
    for (int64_t lane = 0; lane < kSumLanes; ++lane) sums += lanes[part * kSumLanes + lane];
    parts[part] = sums;
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
  return static_cast<size_t>(places.blocks() * places.channels * (kSumLanes + 1)) * sizeof(SumPair);
}

// Runs the first two; what reads the totals comes next. `launch(count, body)` runs body(i) for i below count, and all
// of it before the next launch.
template <class T, class Launch>
ChannelTotals sum_channels(LaneSums<T> body, void* scratch, const Launch& launch) {
  const int64_t parts = body.places.blocks() * body.places.channels;
  body.block = body.places.block();
  body.lanes = static_cast<SumPair*>(scratch);
  SumPair* const joined = body.lanes + parts * kSumLanes;
  launch(parts * kSumLanes, body);
  launch(parts, JoinLanes{body.lanes, joined});
  return {joined, body.places.blocks(), body.places.channels};
}

}  // namespace MILLRACE_UNIT
}  // namespace millrace::cuda
