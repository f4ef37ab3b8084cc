#include "millrace/cli/generate/generate.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "millrace/core/random.h"
#include "millrace/core/text.h"

namespace millrace {

namespace {

constexpr int64_t kDigits = 10;

// Draws the numbers of one row, one after another.
class Draws {
 public:
  Draws(uint64_t seed, uint64_t first_block) : seed_(seed), block_(first_block) {}

  uint32_t word() {
    if (used_ == 4) {
      words_ = philox(seed_, kStream, block_++);
      used_ = 0;
    }
    return words_.word[used_++];
  }
  double between(double low, double high) { return low + (high - low) * ((word() + 0.5) * 0x1p-32); }
  // The sum of four random bytes is nearly normal; it is scaled to mean 0 and deviation 1.
  double noise() {
    constexpr double kMean = 4 * 127.5, kDeviation = 147.8;
    const uint32_t bits = word();
    const uint32_t sum = (bits & 255) + (bits >> 8 & 255) + (bits >> 16 & 255) + (bits >> 24);
    return (sum - kMean) / kDeviation;
  }

 private:
  static constexpr uint64_t kStream = fnv1a64("generate.images");
  uint64_t seed_, block_;
  PhiloxBlock words_ = {};
  size_t used_ = 4;
};

struct Point {
  double x, y;
};

// The corners of a display (x to the right, y down), the segments between them, and a bit for each segment that a digit
// lights.
constexpr std::array<Point, 6> kCorners = {{{-0.5, -0.5}, {0.5, -0.5}, {-0.5, 0}, {0.5, 0}, {-0.5, 0.5}, {0.5, 0.5}}};
constexpr std::array<std::array<size_t, 2>, 7> kSegments = {{{0, 1}, {1, 3}, {3, 5}, {4, 5}, {2, 4}, {0, 2}, {2, 3}}};
constexpr std::array<unsigned, kDigits> kLit = {0x3f, 0x06, 0x5b, 0x4f, 0x66, 0x6d, 0x7d, 0x07, 0x7f, 0x6f};

// How one image is drawn, in pixels.
struct Drawing {
  std::array<Point, 6> corners;
  double thickness;  // half the width of a stroke
  double ink;        // brightness of a stroke
  double noise;      // deviation of every pixel
};

Drawing draw_drawing(Draws& draws, double size) {
  Drawing out{};
  const double height = draws.between(0.4, 0.7) * size;
  const double width = draws.between(0.4, 0.75) * height;
  const double slant = draws.between(-0.35, 0.35);
  out.thickness = draws.between(0.025, 0.06) * size;
  out.ink = draws.between(110, 255);
  out.noise = draws.between(5, 45);
  const double loose = 0.04 * height;  // how far a corner may be from its place
  const double reach_x = (width + std::abs(slant) * height) / 2 + out.thickness + loose;
  const double reach_y = height / 2 + out.thickness + loose;
  const double x = draws.between(reach_x, size - reach_x), y = draws.between(reach_y, size - reach_y);
  for (size_t i = 0; i < kCorners.size(); ++i) {
    const double down = kCorners[i].y * height;
    out.corners[i].x = x + kCorners[i].x * width - slant * down + draws.between(-loose, loose);
    out.corners[i].y = y + down + draws.between(-loose, loose);
  }
  return out;
}

double square_of_distance(const Point& at, const Point& from, const Point& to) {
  const double along_x = to.x - from.x, along_y = to.y - from.y;
  const double share =
      ((at.x - from.x) * along_x + (at.y - from.y) * along_y) / (along_x * along_x + along_y * along_y);
  const double nearest = std::clamp(share, 0.0, 1.0);
  const double x = at.x - from.x - nearest * along_x, y = at.y - from.y - nearest * along_y;
  return x * x + y * y;
}

// How much of the pixel around `at` the digit covers, from 0 to 1.
double coverage(const Drawing& drawing, size_t digit, const Point& at) {
  double square = HUGE_VAL;
  for (size_t i = 0; i < kSegments.size(); ++i) {
    if ((kLit[digit] >> i & 1) == 0) continue;
    const auto& [from, to] = kSegments[i];
    square = std::min(square, square_of_distance(at, drawing.corners[from], drawing.corners[to]));
  }
  return std::clamp(drawing.thickness + 0.5 - std::sqrt(square), 0.0, 1.0);
}

}  // namespace

GenerateResult generate_images(const GenerateOptions& options, int64_t size) {
  return write_generated_files(options, kDigits, [&](cli::Output& out, int64_t file, int64_t row) {
    Draws draws(static_cast<uint64_t>(options.seed),
                (static_cast<uint64_t>(file) << 44) + (static_cast<uint64_t>(row) << 12));
    const auto label = static_cast<int64_t>(scale_to(uint64_t{draws.word()} << 32, kDigits));
    const Drawing drawing = draw_drawing(draws, static_cast<double>(size));
    out.write(cat(label, ','));
    for (int64_t y = 0; y < size; ++y) {
      for (int64_t x = 0; x < size; ++x) {
        const Point middle = {static_cast<double>(x) + 0.5, static_cast<double>(y) + 0.5};
        const double light = drawing.ink * coverage(drawing, static_cast<size_t>(label), middle);
        const double value = std::floor(light + drawing.noise * draws.noise() + 0.5);
        const bool is_last = x + 1 == size && y + 1 == size;
        out.write(cat(static_cast<int64_t>(std::clamp(value, 0.0, 255.0)), is_last ? '\n' : ','));
      }
    }
    return label;
  });
}

}  // namespace millrace
