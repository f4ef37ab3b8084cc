// What the tests of augment share: files of images, and augment once more, as its definition reads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "millrace/core/random.h"
#include "tests/input/graph_check.h"

namespace millrace::testing_support {

// The ops that read images from files whose lines are their pixels, row by row, and a label.
struct ImageReading {
  std::string files = "t.csv";
  std::string shape = "[1, 2, 3]";
  int values = 6;
  std::string epochs = "1";
  std::string more = {};  // of filename_queue
  int chunk_bytes = 20;
  std::string type = "float32";
};

inline std::string reading_images(const ImageReading& r) {
  return cat("- filename_queue: {files: \"", r.files, "\", epochs: ", r.epochs, r.more,
             "}\n- csv_reader: {chunk_bytes: ", r.chunk_bytes, "}\n- decode_csv:\n    fields:\n",
             "      image: {columns: 0-", r.values - 1, ", reshape: ", r.shape, ", type: ", r.type, "}\n",
             "      label: {columns: ", r.values, ", type: int32}\n");
}

// Lines of 1 to `values`, one more in each of them: "1,2,3,0", "2,3,4,1" and so on; the label counts from `first`.
inline std::string image_lines(int rows, int values, int first = 0) {
  std::string out;
  for (int row = 0; row < rows; ++row) {
    for (int i = 0; i < values; ++i) out += cat(first + row + i + 1, ',');
    out += cat(first + row, '\n');
  }
  return out;
}

// Augment as its documentation defines it, one step after another.
class ReferenceAugment {
 public:
  struct Options {
    int64_t shift = 0;
    double fill = 0;
    bool horizontal = false, vertical = false;
    int64_t crop_height = 0, crop_width = 0;  // 0: no crop
    double noise = 0;
  };

  ReferenceAugment(const Options& options, uint64_t seed, std::string_view name)
      : options_(options), seed_(seed), name_(name) {}

  struct Image {
    int64_t channels = 0, height = 0, width = 0;
    std::vector<double> values;
    double& at(int64_t c, int64_t y, int64_t x) { return values[static_cast<size_t>((c * height + y) * width + x)]; }
  };

  // Noise as added to float32 values, from block `block` of the row on; the result is not rounded.
  Image operator()(Image image, const RowId& id, uint64_t block = 0) const {
    if (options_.shift > 0) {
      const int64_t down = draw(id, 0, 2 * options_.shift + 1) - options_.shift;
      const int64_t right = draw(id, 1, 2 * options_.shift + 1) - options_.shift;
      image = moved(image, image.height, image.width, [&](int64_t& y, int64_t& x) {
        y -= down;
        x -= right;
      });
    }
    if (options_.horizontal && draw(id, 2, 2) == 1) {
      image = moved(image, image.height, image.width, [&](int64_t&, int64_t& x) { x = image.width - 1 - x; });
    }
    if (options_.vertical && draw(id, 3, 2) == 1) {
      image = moved(image, image.height, image.width, [&](int64_t& y, int64_t&) { y = image.height - 1 - y; });
    }
    if (options_.crop_height > 0) {
      const int64_t top = draw(id, 4, image.height - options_.crop_height + 1);
      const int64_t left = draw(id, 5, image.width - options_.crop_width + 1);
      image = moved(image, options_.crop_height, options_.crop_width, [&](int64_t& y, int64_t& x) {
        y += top;
        x += left;
      });
    }
    for (size_t i = 0; i < image.values.size() && options_.noise > 0; ++i) {
      const uint64_t index = 6 + block + i / 2;
      image.values[i] += options_.noise * normal_pair(philox(key(id), id.offset, index_of(id, index)))[i % 2];
    }
    return image;
  }

 private:
  uint64_t key(const RowId& id) const { return philox64(seed_, fnv1a64(name_), (uint64_t{id.pass} << 32) + id.file); }
  static uint64_t index_of(const RowId& id, uint64_t index) { return (uint64_t{id.source} << 32) + index; }
  int64_t draw(const RowId& id, uint64_t index, int64_t n) const {
    return static_cast<int64_t>(scale_to(philox64(key(id), id.offset, index_of(id, index)), static_cast<uint64_t>(n)));
  }

  // The image whose pixels come from where `source` says; from outside comes `fill`.
  template <class Source>
  Image moved(Image& from, int64_t height, int64_t width, const Source& source) const {
    Image to{from.channels, height, width, std::vector<double>(static_cast<size_t>(from.channels * height * width))};
    for (int64_t c = 0; c < to.channels; ++c) {
      for (int64_t y = 0; y < height; ++y) {
        for (int64_t x = 0; x < width; ++x) {
          int64_t from_y = y, from_x = x;
          source(from_y, from_x);
          const bool inside = from_y >= 0 && from_y < from.height && from_x >= 0 && from_x < from.width;
          to.at(c, y, x) = inside ? from.at(c, from_y, from_x) : options_.fill;
        }
      }
    }
    return to;
  }

  Options options_;
  uint64_t seed_;
  std::string name_;
};

}  // namespace millrace::testing_support
