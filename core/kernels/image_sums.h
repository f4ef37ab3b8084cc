// Sums over all pixels of each channel of a batch, in double and always in the same order: the bodies of CUDA's
// kernels.
//
// Values are (batch, channels, pixels); a vector is an image of one pixel. They are cut into about kSumBlocks blocks,
// each of some images or, if images are few and large, of a run of one image's pixels. A part is one channel of one
// block: its lanes add it up, then the parts of a channel are added in order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "millrace/core/export.h"
#include "millrace/core/parallel.h"
#include "millrace/core/sizes.h"

namespace millrace::cuda {

inline namespace MILLRACE_UNIT {

inline constexpr int64_t kSumBlocks = 64;
// A block has at least this many values of a channel, if the batch has so many.
inline constexpr int64_t kSumBlock = 4096;

struct ChannelPlaces {
  int64_t batch = 0, channels = 0, pixels = 0;

  // The images of a block, and the pixels of each image in it: all of them, if the block has several images.
  int64_t images() const { return std::min(batch, std::max(ceil_div(batch, kSumBlocks), ceil_div(kSumBlock, pixels))); }
  int64_t run() const {
    const int64_t runs = std::min(ceil_div(pixels, kSumBlock), std::max<int64_t>(kSumBlocks / batch, 1));
    return images() > 1 ? pixels : ceil_div(pixels, runs);
  }
  int64_t blocks() const { return ceil_div(batch, images()) * ceil_div(pixels, run()); }
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
  int64_t images = 0, run = 0;  // places.images(), places.run()
  SumPair* parts = nullptr;

  template <class Lanes>
  MILLRACE_HD void operator()(int64_t part, const Lanes& lanes) const {
    const int64_t channel = part % places.channels, block = part / places.channels;
    const int64_t runs = (places.pixels + run - 1) / run, image = block / runs * images, pixel = block % runs * run;
    const int64_t images_left = places.batch - image, pixels_left = places.pixels - pixel;
    const SumPair sums = lanes.sum(images_left < images ? images_left : images, pixels_left < run ? pixels_left : run,
                                   [&](int64_t i, int64_t k) { return term(image + i, channel, pixel + k); });
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

// Adds up the parts; the next launch may read the totals. `launch(count, body)` runs body(i) for i below count, and
// `launch.rows(count, columns, body)` runs body(i, lanes) with lanes for so many columns. Each launch ends before the
// next begins.
template <class T, class Launch>
ChannelTotals sum_channels(PartSums<T> body, void* scratch, const Launch& launch) {
  const ChannelPlaces& places = body.places;
  body.images = places.images();
  body.run = places.run();
  body.parts = static_cast<SumPair*>(scratch);
  launch.rows(places.blocks() * places.channels, body.images * body.run, body);
  return {body.parts, places.blocks(), places.channels};
}

}  // namespace MILLRACE_UNIT
}  // namespace millrace::cuda
