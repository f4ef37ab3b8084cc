// ImageTiles: how a batch of images is divided among tasks. It depends only on the work, never on threads. A value.
#pragma once

#include <algorithm>
#include <cstdint>

namespace millrace::cpu {

class ImageTiles {
 public:
  // Cuts `batch` images, each with `work` multiplications, into sixteen tiles; into fewer if tiles would be too small
  // for a task; into more if tiles would be so large that threads wait for the last one; into `most` at most.
  ImageTiles(int64_t batch, int64_t work, int64_t most) : batch_(batch) {
    constexpr int64_t kEnoughTiles = 16, kWorthATask = int64_t{1} << 20, kLargest = int64_t{1} << 24;
    // A double, because an integer may be too small for the multiplications of the whole batch.
    const double total = static_cast<double>(batch) * static_cast<double>(work);
    const auto tiles = [&](int64_t size) {
      return static_cast<int64_t>(std::min(total / static_cast<double>(size), static_cast<double>(batch)));
    };
    count_ = std::max(std::min(kEnoughTiles, tiles(kWorthATask)), tiles(kLargest));
    count_ = std::clamp<int64_t>(count_, 1, std::min(batch, most));
  }

  // The same batch in tiles of one size: the largest number of tiles, up to count(), for which that is possible.
  ImageTiles evened() const {
    ImageTiles out = *this;
    while (batch_ % out.count_ != 0) --out.count_;
    return out;
  }

  int64_t count() const { return count_; }
  int64_t begin(int64_t tile) const { return batch_ / count_ * tile + std::min(tile, batch_ % count_); }
  int64_t images(int64_t tile) const { return begin(tile + 1) - begin(tile); }
  // The images of the first tile; no tile has more.
  int64_t most_images() const { return images(0); }
  // The images of the last tile; no tile has fewer. It is at most one less than most_images().
  int64_t least_images() const { return images(count_ - 1); }

 private:
  int64_t batch_, count_;
};

}  // namespace millrace::cpu
