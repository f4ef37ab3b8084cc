// PictureScaler: scales a picture while its lines come, one after another, so that two of them are held at a time.
//
// Pixels lie between their neighbours' middles: pixel i of n that show m pixels is at (i + 0.5) * m / n - 0.5 of them,
// and is mixed of the two pixels next to that place, along both axes. Everything is computed with whole numbers, so
// every processor gives the same bits. Places and weights are in units of 1/2048 of a pixel. Two lines, as they are
// shown, are mixed first, and the sums rounded to 1/128. Then two of these sums are mixed, and the result is rounded.
// It is at most 1/2 + 1/256 away from the exact mixture of the four pixels. Pixels without weight change nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace millrace {

// How a picture of another shape fits into the target.
enum class Resize : uint8_t {
  crop,     // it covers the target, and what stands out on two sides is cut off
  stretch,  // it is stretched
  pad,      // it is whole, and what it leaves of the target is 0
};

// What pictures become.
struct PictureTarget {
  int64_t channels = 3;  // 1: grey; 3: red, green, blue
  int64_t height = 1, width = 1;
  Resize resize = Resize::crop;
  int64_t max_pixels = int64_t{1} << 25;  // of a picture that can only be decoded as a whole
};

// A picture as it lies in its file.
struct StoredPicture {
  int64_t width = 1, height = 1;
  int orientation = 1;  // of EXIF
};

// The sides of a picture that is read have at most so many pixels, as in JPEG.
inline constexpr int64_t kMostSide = 65535;

// By how much a picture is reduced before it is scaled: 8, 4 or 2, if what the target shows of it is still larger than
// the target after that, else 1.
int reduction_of(const PictureTarget& target, const StoredPicture& picture);

class PictureScaler {
 public:
  // Begins a picture whose lines come reduced by `reduction`, each with target.channels bytes for each of its pixels.
  // `to` gets the target: one channel after another. REQUIRES: no side of the picture is longer than kMostSide.
  void begin(const PictureTarget& target, const StoredPicture& picture, int reduction, uint8_t* to);
  // The pixels of a line, and how many lines there are.
  int64_t width() const { return width_; }
  int64_t lines() const { return lines_; }
  // The pixels [shown_begin(), shown_end()) of each line are looked at, the others may hold anything.
  int64_t shown_begin() const { return shown_begin_; }
  int64_t shown_end() const { return shown_end_; }

  // Where the next line is to be written, and that it has been. They neither allocate nor throw.
  uint8_t* line() { return memory_[next_line_ % 2].data() + kLineOffset; }
  void add_line();

 private:
  // Pixel `to` of the target is mixed of what is at `from` and the pixel or line after it, the second with this weight.
  struct Tap {
    int32_t from = 0, weight = 0;
    int32_t to = 0;
  };

  // libjpeg-turbo writes a line that begins at a multiple of 32 bytes past the caches, and reading it would wait for
  // memory.
  static constexpr size_t kLineOffset = 1;

  template <int kChannels>
  void write_row(const uint8_t* first, const uint8_t* second, const Tap& row);

  int64_t channels_ = 3, plane_ = 1;  // plane_: the pixels of a channel
  uint8_t* to_ = nullptr;
  bool turned_ = false;  // lines are shown as columns
  int64_t width_ = 1, lines_ = 1;
  // columns_ in the order of the target; `from` is a place in mixed_. rows_ in the order of the lines, as is `from`.
  std::vector<Tap> columns_, rows_;
  std::vector<std::array<int16_t, 8>> weights_;  // of each column: its two weights, four times
  size_t next_row_ = 0;
  int64_t next_line_ = 0;
  std::vector<uint8_t> memory_[2];  // lines that are even and odd
  int64_t shown_begin_ = 0, shown_end_ = 1;
  std::vector<int16_t> mixed_;  // the pixels that are shown, of two lines, in units of 1/128
};

}  // namespace millrace
