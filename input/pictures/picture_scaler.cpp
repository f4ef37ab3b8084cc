#include "millrace/input/pictures/picture_scaler.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include <algorithm>
#include <cstring>

#include "millrace/core/sizes.h"

namespace millrace {

namespace {

// The parts of a pixel by which places and weights are counted.
constexpr int kPartBits = 11;
constexpr int32_t kParts = 1 << kPartBits;
// Half of a whole number, in the units of a sum that is weighted along both axes.
constexpr int32_t kHalf = 1 << (2 * kPartBits - 1);

int64_t rounded_ratio(int64_t a, int64_t b) { return (a + b / 2) / b; }

// EXIF's orientations from 5 on show columns as lines.
bool is_turned(int orientation) { return orientation >= 5; }
bool mirrors_columns(int orientation) {
  return orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
}
bool mirrors_lines(int orientation) {
  return orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
}

// What of an axis is shown where: pixels [begin, begin + size) of the picture as it is shown, and of the target.
struct PixelRange {
  int64_t begin = 0, size = 1;
};
struct Axis {
  PixelRange from, to;
};
struct Fit {
  Axis x, y;
};

Fit fit_of(const PictureTarget& target, const StoredPicture& picture) {
  const bool turned = is_turned(picture.orientation);
  const int64_t across = turned ? picture.height : picture.width, down = turned ? picture.width : picture.height;
  Fit out = {{{0, across}, {0, target.width}}, {{0, down}, {0, target.height}}};
  if (target.resize == Resize::stretch) return out;
  // `size` pixels in the middle of `all`.
  const auto middle = [](int64_t all, int64_t size) -> PixelRange {
    size = std::clamp<int64_t>(size, 1, all);
    return {(all - size) / 2, size};
  };
  const bool wider = across * target.height > down * target.width;
  if (target.resize == Resize::crop && wider) {
    out.x.from = middle(across, rounded_ratio(down * target.width, target.height));
  } else if (target.resize == Resize::crop) {
    out.y.from = middle(down, rounded_ratio(across * target.height, target.width));
  } else if (wider) {
    out.y.to = middle(target.height, rounded_ratio(down * target.width, across));
  } else {
    out.x.to = middle(target.width, rounded_ratio(across * target.height, down));
  }
  return out;
}

// An axis of the lines that come.
struct StoredAxis {
  Axis shown;
  int64_t size = 1;       // pixels of the stored picture
  bool mirrored = false;  // it is shown from its end
  int64_t step = 1;       // from one pixel of the target to the next
};

template <class Tap>
void set_taps(std::vector<Tap>& taps, const StoredAxis& axis, int reduction) {
  const auto [from, to] = axis.shown;
  const int64_t last = (ceil_div<int64_t>(axis.size, reduction) - 1) * kParts;
  taps.resize(static_cast<size_t>(to.size));
  for (int64_t i = 0; i < to.size; ++i) {
    const int64_t shown = axis.mirrored ? to.size - 1 - i : i;
    // The middle of the pixel, in pixels of the picture, is this over 2 * to.size.
    const int64_t middle = 2 * from.begin * to.size + (2 * shown + 1) * from.size;
    int64_t at = rounded_ratio(middle * kParts, 2 * to.size * reduction) - kParts / 2;
    if (axis.mirrored) at = axis.size * kParts / reduction - kParts - at;
    at = std::clamp<int64_t>(at, 0, last);
    taps[static_cast<size_t>(i)] = {.from = static_cast<int32_t>(at / kParts),
                                    .weight = static_cast<int32_t>(at % kParts),
                                    .to = static_cast<int32_t>((to.begin + shown) * axis.step)};
  }
}

#if defined(__x86_64__)

bool has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2") != 0;
  return has;
}

// Does as write_row() for columns of three channels that stand side by side in the target, four of them at a time.
// Returns how many it has written. Each pixel's channels are computed together, beside a number that is no channel, and
// become one byte of a word for each channel.
template <class Tap>
__attribute__((target("avx2"))) size_t write_fours(const std::vector<Tap>& columns, const int32_t* mixed, int64_t plane,
                                                   uint8_t* to) {
  using Channels = uint32_t __attribute__((vector_size(16)));
  size_t i = 0;
  for (; i + 4 <= columns.size(); i += 4) {
    Channels words = {};
    for (size_t pixel = 0; pixel < 4; ++pixel) {
      const Tap& column = columns[i + pixel];
      Channels first, second;
      std::memcpy(&first, mixed + column.from, sizeof first);
      std::memcpy(&second, mixed + column.from + 3, sizeof second);
      const Channels sum = first * uint32_t{kParts} + (second - first) * static_cast<uint32_t>(column.weight);
      words |= (sum + uint32_t{kHalf}) >> (2 * kPartBits) << (8 * pixel);
    }
    for (int channel = 0; channel < 3; ++channel) {
      const uint32_t word = words[channel];
      std::memcpy(to + channel * plane + columns[i].to, &word, sizeof word);
    }
  }
  return i;
}

#endif

}  // namespace

int reduction_of(const PictureTarget& target, const StoredPicture& picture) {
  const auto [x, y] = fit_of(target, picture);
  int reduction = 1;
  for (int64_t next = 2; next <= 8 && next * x.to.size < x.from.size && next * y.to.size < y.from.size; next *= 2) {
    reduction = static_cast<int>(next);
  }
  return reduction;
}

void PictureScaler::begin(const PictureTarget& target, const StoredPicture& picture, int reduction, uint8_t* to) {
  channels_ = target.channels;
  plane_ = target.width * target.height;
  to_ = to;
  width_ = ceil_div<int64_t>(picture.width, reduction);
  lines_ = ceil_div<int64_t>(picture.height, reduction);
  const auto [x, y] = fit_of(target, picture);
  const bool turned = is_turned(picture.orientation);
  set_taps(columns_,
           {.shown = turned ? y : x,
            .size = picture.width,
            .mirrored = mirrors_columns(picture.orientation),
            .step = turned ? target.width : 1},
           reduction);
  set_taps(rows_,
           {.shown = turned ? x : y,
            .size = picture.height,
            .mirrored = mirrors_lines(picture.orientation),
            .step = turned ? 1 : target.width},
           reduction);
  next_row_ = 0;
  next_line_ = 0;
  for (std::vector<uint8_t>& one : memory_) one.resize(kLineOffset + static_cast<size_t>(width_ * channels_));
  const int64_t end = columns_.back().from + 2;
  shown_begin_ = columns_.front().from;
  shown_end_ = std::min(end, width_);
  mixed_.resize(static_cast<size_t>((end - shown_begin_) * channels_ + 1));
  for (Tap& column : columns_) column.from = static_cast<int32_t>((column.from - shown_begin_) * channels_);
  const bool whole = x.to.size == target.width && y.to.size == target.height;
  if (!whole) std::memset(to, 0, static_cast<size_t>(channels_ * plane_));
}

void PictureScaler::add_line() {
  const uint8_t *const current = line(), *const before = memory_[(next_line_ + 1) % 2].data() + kLineOffset;
  for (; next_row_ < rows_.size(); ++next_row_) {
    const Tap& row = rows_[next_row_];
    const bool mixed = row.weight > 0;
    if (row.from + (mixed ? 1 : 0) > next_line_) break;
    mix_lines(mixed ? before : current, current, row.weight);
    if (channels_ == 1) {
      write_row<1>(to_ + row.to);
    } else {
      write_row<3>(to_ + row.to);
    }
  }
  ++next_line_;
}

void PictureScaler::mix_lines(const uint8_t* first, const uint8_t* second, int32_t weight) {
  first += shown_begin_ * channels_;
  second += shown_begin_ * channels_;
  const auto of_second = static_cast<int16_t>(weight), of_first = static_cast<int16_t>(kParts - weight);
  int32_t* const to = mixed_.data();
  const int64_t count = (shown_end_ - shown_begin_) * channels_;
  int64_t i = 0;
#if defined(__x86_64__)
  // The compiler finds no way to multiply and add at once.
  const __m128i weights = _mm_set1_epi32(weight << 16 | of_first), zero = _mm_setzero_si128();
  const auto mix = [&](int64_t place, __m128i pairs) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + place), _mm_madd_epi16(pairs, weights));
  };
  for (; i + 16 <= count; i += 16) {
    const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(first + i));
    const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(second + i));
    const __m128i low = _mm_unpacklo_epi8(a, b), high = _mm_unpackhi_epi8(a, b);
    mix(i, _mm_unpacklo_epi8(low, zero));
    mix(i + 4, _mm_unpackhi_epi8(low, zero));
    mix(i + 8, _mm_unpacklo_epi8(high, zero));
    mix(i + 12, _mm_unpackhi_epi8(high, zero));
  }
#endif
  for (; i < count; ++i) to[i] = int16_t{first[i]} * of_first + int16_t{second[i]} * of_second;
}

template <int kChannels>
void PictureScaler::write_row(uint8_t* to) const {
  const int64_t plane = plane_;
  size_t i = 0;
#if defined(__x86_64__)
  const bool side_by_side = columns_.back().to - columns_.front().to == std::ssize(columns_) - 1;
  if (kChannels == 3 && side_by_side && has_avx2()) i = write_fours(columns_, mixed_.data(), plane, to);
#endif
  for (; i < columns_.size(); ++i) {
    const Tap& column = columns_[i];
    const int32_t* const at = mixed_.data() + column.from;
    for (int channel = 0; channel < kChannels; ++channel) {
      const int32_t sum = at[channel] * kParts + (at[channel + kChannels] - at[channel]) * column.weight;
      to[channel * plane + column.to] = static_cast<uint8_t>((sum + kHalf) >> (2 * kPartBits));
    }
  }
}

}  // namespace millrace
