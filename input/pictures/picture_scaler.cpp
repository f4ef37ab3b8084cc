#include "millrace/input/pictures/picture_scaler.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <cstring>
#include <span>

#include "millrace/core/sizes.h"

namespace millrace {

namespace {

// The parts of a pixel by which places and weights are counted.
constexpr int kPartBits = 11;
constexpr int32_t kParts = 1 << kPartBits;
// Mixed lines have so many bits after the point, as many as int16_t has room for. The first step leaves out kRestBits,
// the second kLastBits.
constexpr int kMixedBits = 7, kRestBits = kPartBits - kMixedBits, kLastBits = kPartBits + kMixedBits;
// Lines are mixed in blocks of so many values. Their memory has room for one block more than they need.
constexpr int64_t kBlock = 16;

int32_t mix_first(int32_t a, int32_t b, int32_t weight) {
  return (a * kParts + (b - a) * weight + (1 << (kRestBits - 1))) >> kRestBits;
}
uint8_t mix_last(int32_t a, int32_t b, int32_t weight) {
  return static_cast<uint8_t>((a * kParts + (b - a) * weight + (1 << (kLastBits - 1))) >> kLastBits);
}

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

__attribute__((target("avx2"))) inline __m128i load_16_bytes(const void* from) {
  return _mm_loadu_si128(static_cast<const __m128i*>(from));
}

// mix_first() for whole registers: _mm256_mulhrs_epi16(x, y) is (x * y + (1 << 14)) >> 15.
__attribute__((target("avx2"))) void mix_lines_avx2(const uint8_t* first, const uint8_t* second, int32_t weight,
                                                    int64_t count, int16_t* to) {
  const __m256i weights = _mm256_set1_epi16(static_cast<int16_t>(weight << kRestBits));
  for (int64_t i = 0; i < count; i += kBlock) {
    const __m256i a = _mm256_slli_epi16(_mm256_cvtepu8_epi16(load_16_bytes(first + i)), kMixedBits);
    const __m256i b = _mm256_slli_epi16(_mm256_cvtepu8_epi16(load_16_bytes(second + i)), kMixedBits);
    const __m256i sum = _mm256_add_epi16(a, _mm256_mulhrs_epi16(_mm256_sub_epi16(b, a), weights));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), sum);
  }
}

// mix_last() for columns of three channels that stand next to each other in the target, eight at a time. The last eight
// may include some that are written already. REQUIRES: there are at least eight.
template <class Tap>
__attribute__((target("avx2"))) void write_columns_avx2(std::span<const Tap> columns,
                                                        std::span<const std::array<int16_t, 8>> weights,
                                                        const int16_t* mixed, int64_t plane, uint8_t* to) {
  // In both halves of a register: r g b r g b, of two pixels, becomes r r g g b b. And r g b 0, of four pixels, becomes
  // r r r r g g g g b b b b.
  const __m256i pairs =
      _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11, -1, -1, -1, -1));
  const __m256i planes =
      _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
  const __m256i half = _mm256_set1_epi32(1 << (kLastBits - 1));
  for (size_t next = 0; next < columns.size(); next += 8) {
    const size_t first = std::min(next, columns.size() - 8);
    __m256i pixels[4];  // two each
    for (size_t i = 0; i < 4; ++i) {
      const size_t column = first + 2 * i;
      const __m256i values = _mm256_set_m128i(load_16_bytes(mixed + columns[column + 1].from),
                                              load_16_bytes(mixed + columns[column].from));
      const auto* const factors = reinterpret_cast<const __m256i*>(&weights[column]);
      const __m256i sums = _mm256_madd_epi16(_mm256_shuffle_epi8(values, pairs), _mm256_loadu_si256(factors));
      pixels[i] = _mm256_srli_epi32(_mm256_add_epi32(sums, half), kLastBits);
    }
    const __m256i bytes =
        _mm256_packus_epi16(_mm256_packus_epi32(pixels[0], pixels[1]), _mm256_packus_epi32(pixels[2], pixels[3]));
    const __m256i apart = _mm256_shuffle_epi8(bytes, planes);
    const __m128i even = _mm256_castsi256_si128(apart), odd = _mm256_extracti128_si256(apart, 1);
    const __m128i red_green = _mm_unpacklo_epi8(even, odd), blue = _mm_unpackhi_epi8(even, odd);
    uint8_t* const red = to + columns[first].to;
    _mm_storel_epi64(reinterpret_cast<__m128i*>(red), red_green);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(red + plane), _mm_unpackhi_epi64(red_green, red_green));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(red + 2 * plane), blue);
  }
}

#endif

void mix_lines(const uint8_t* first, const uint8_t* second, int32_t weight, int64_t count, int16_t* to) {
#if defined(__x86_64__)
  if (has_avx2()) return mix_lines_avx2(first, second, weight, count, to);
#endif
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<int16_t>(mix_first(first[i], second[i], weight));
}

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
  turned_ = is_turned(picture.orientation);
  set_taps(columns_,
           {.shown = turned_ ? y : x,
            .size = picture.width,
            .mirrored = mirrors_columns(picture.orientation),
            .step = turned_ ? target.width : 1},
           reduction);
  set_taps(rows_,
           {.shown = turned_ ? x : y,
            .size = picture.height,
            .mirrored = mirrors_lines(picture.orientation),
            .step = turned_ ? 1 : target.width},
           reduction);
  next_row_ = 0;
  next_line_ = 0;
  if (mirrors_columns(picture.orientation)) std::ranges::reverse(columns_);
  const auto [begin, last] = std::minmax({columns_.front().from, columns_.back().from});
  shown_begin_ = begin;
  shown_end_ = std::min<int64_t>(last + 2, width_);
  // The pixel after the last may not exist, and has no weight then.
  const auto line_bytes = static_cast<size_t>((width_ + 1) * channels_ + kBlock);
  for (std::vector<uint8_t>& one : memory_) one.resize(kLineOffset + line_bytes);
  mixed_.resize(static_cast<size_t>((last + 2 - begin) * channels_ + kBlock));
  weights_.clear();
  for (Tap& column : columns_) {
    column.from = static_cast<int32_t>((column.from - shown_begin_) * channels_);
    const auto first = static_cast<int16_t>(kParts - column.weight), second = static_cast<int16_t>(column.weight);
    weights_.push_back({first, second, first, second, first, second, first, second});
  }
  const bool whole = x.to.size == target.width && y.to.size == target.height;
  if (!whole) std::memset(to, 0, static_cast<size_t>(channels_ * plane_));
}

void PictureScaler::add_line() {
  const size_t begin = kLineOffset + static_cast<size_t>(shown_begin_ * channels_);
  const uint8_t* const current = memory_[next_line_ % 2].data() + begin;
  const uint8_t* const before = memory_[(next_line_ + 1) % 2].data() + begin;
  for (; next_row_ < rows_.size(); ++next_row_) {
    const Tap& row = rows_[next_row_];
    const bool mixed = row.weight > 0;
    if (row.from + (mixed ? 1 : 0) > next_line_) break;
    const uint8_t* const first = mixed ? before : current;
    if (channels_ == 1) {
      write_row<1>(first, current, row);
    } else {
      write_row<3>(first, current, row);
    }
  }
  ++next_line_;
}

template <int kChannels>
void PictureScaler::write_row(const uint8_t* first, const uint8_t* second, const Tap& row) {
  uint8_t* const to = to_ + row.to;
  const int64_t plane = plane_;
  if (turned_) {  // lines are shown as columns, so the pixels of a line are mixed first
    for (const Tap& column : columns_) {
      for (int channel = 0; channel < kChannels; ++channel) {
        const int64_t at = column.from + channel, after = at + kChannels;
        to[channel * plane + column.to] = mix_last(mix_first(first[at], first[after], column.weight),
                                                   mix_first(second[at], second[after], column.weight), row.weight);
      }
    }
    return;
  }
  mix_lines(first, second, row.weight, (shown_end_ - shown_begin_) * kChannels, mixed_.data());
#if defined(__x86_64__)
  if (kChannels == 3 && columns_.size() >= 8 && has_avx2()) {
    return write_columns_avx2<Tap>(columns_, weights_, mixed_.data(), plane, to);
  }
#endif
  for (const Tap& column : columns_) {
    const int16_t* const at = mixed_.data() + column.from;
    for (int channel = 0; channel < kChannels; ++channel) {
      to[channel * plane + column.to] = mix_last(at[channel], at[channel + kChannels], column.weight);
    }
  }
}

}  // namespace millrace
