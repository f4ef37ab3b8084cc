// ImageTiles: how a batch of images is shared out to tasks. Depends on the work alone, never on threads. A value.
#pragma once

#include <algorithm>
#include <cstdint>

#include "millrace/core/sizes.h"

namespace millrace::cpu {

class ImageTiles {
 public:
  // Of `batch` images with `work` multiplications each: sixteen tiles where that makes each worth a task, else fewer;
  // more where tiles would be so large that threads wait for the last one; at most `most`.
  ImageTiles(int64_t batch, int64_t work, int64_t most) : batch_(batch) {
    constexpr int64_t kEnoughTiles = 16, kWorthATask = int64_t{1} << 20, kLargest = int64_t{1} << 24;
    // The products of a whole batch may be more than can be counted; then there are enough for every image.
    const double total = static_cast<double>(batch) * static_cast<double>(work);
    const auto tiles = [&](int64_t size) {
      return static_cast<int64_t>(std::min(total / static_cast<double>(size), static_cast<double>(batch)));
    };
    count_ = std::max(std::min(kEnoughTiles, tiles(kWorthATask)), tiles(kLargest));
    count_ = std::clamp<int64_t>(count_, 1, std::min(batch, most));
  }

  // As many tiles of one size as are no more than these.
  ImageTiles evened() const {
    ImageTiles out = *this;
    while (batch_ % out.count_ != 0) --out.count_;
    return out;
  }

  int64_t count() const { return count_; }
  int64_t begin(int64_t tile) const { return batch_ / count_ * tile + std::min(tile, batch_ % count_); }
  int64_t images(int64_t tile) const { return begin(tile + 1) - begin(tile); }
  // Of the first tile, which is as large as any.
  int64_t most_images() const { return images(0); }
  // Of the last, which is as small as any: at most one image smaller.
  int64_t least_images() const { return images(count_ - 1); }

 private:
  int64_t batch_, count_;
};

}  // namespace millrace::cpu
