// Finds where delimiters, line feeds and quotes lie, 64 bytes at a time.
#include "millrace/input/csv/kernels/kernels.h"

#if defined(__x86_64__)

#include <bit>
#include <cstdint>

#include "millrace/input/csv/kernels/targets.h"

namespace millrace {

namespace {

// The marks of the 64 bytes at `at`; the lowest bit is for the first byte. The functions that use it are inlined, so
// they are compiled for the instructions of their caller.
struct IndexBlock {
  uint32_t at = 0;
  uint64_t separators = 0;
  uint64_t events = 0;
  uint32_t count = 0;  // how many bits of separators are set
};

[[gnu::always_inline]] inline void add_events(const IndexBlock& block, IndexEnd& end) {
  for (uint64_t events = block.events; events != 0; events &= events - 1) {
    const uint64_t below = (events & (~events + 1)) - 1;
    *end.events++ = {block.at + static_cast<uint32_t>(std::countr_zero(events)),
                     end.separator_count + static_cast<uint32_t>(std::popcount(block.separators & below))};
  }
}

// Writes eight separators at a time, even if there are fewer, because a branch on their number would be mispredicted.
// `last_bit` is set if countr_zero(0) is slow: then its argument is never 0.
[[gnu::always_inline]] inline void add_separators(const IndexBlock& block, uint64_t last_bit, IndexEnd& end) {
  uint64_t separators = block.separators;
  for (uint32_t done = 0; done < block.count; done += 8) {
    for (uint32_t i = 0; i < 8; ++i, separators &= separators - 1) {
      end.separators[done + i] = block.at + static_cast<uint32_t>(std::countr_zero(separators | last_bit));
    }
  }
  end.separators += block.count;
  end.separator_count += block.count;
}

struct Found {
  uint64_t bits = 0;
  uint32_t count = 0;
};

// Finds the bytes among 64 that equal `one` or `other`.
Found find(const __m128i (&bytes)[4], __m128i one, __m128i other) {
  Found out;
  __m128i sums = _mm_setzero_si128();
  for (unsigned i = 0; i < 4; ++i) {
    const __m128i equal = _mm_or_si128(_mm_cmpeq_epi8(bytes[i], one), _mm_cmpeq_epi8(bytes[i], other));
    out.bits |= uint64_t{static_cast<uint32_t>(_mm_movemask_epi8(equal))} << 16 * i;
    sums = _mm_sub_epi8(sums, equal);  // equal bytes are -1
  }
  sums = _mm_sad_epu8(sums, _mm_setzero_si128());
  out.count = static_cast<uint32_t>(_mm_cvtsi128_si32(_mm_add_epi32(sums, _mm_srli_si128(sums, 8))));
  return out;
}

// A bit for each byte among 64 that equals `wanted`.
MILLRACE_AVX2_INLINE uint64_t equal_bytes(__m256i low, __m256i high, __m256i wanted) {
  const auto low_bits = static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, wanted)));
  const auto high_bits = static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, wanted)));
  return low_bits | uint64_t{high_bits} << 32;
}

// Overwrites up to 64 entries.
MILLRACE_AVX512_INLINE void add_separators_avx512(const IndexBlock& block, IndexEnd& end) {
  const __m512i places = _mm512_maskz_compress_epi8(
      block.separators,
      _mm512_set_epi8(63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43, 42, 41, 40,
                      39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16,
                      15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
  const __m512i base = _mm512_set1_epi32(static_cast<int>(block.at));
  uint32_t* out = end.separators;
  _mm512_storeu_si512(out, _mm512_add_epi32(base, _mm512_cvtepu8_epi32(_mm512_castsi512_si128(places))));
  if (block.count > 16) [[unlikely]] {
    _mm512_storeu_si512(out + 16, _mm512_add_epi32(base, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(places, 1))));
    _mm512_storeu_si512(out + 32, _mm512_add_epi32(base, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(places, 2))));
    _mm512_storeu_si512(out + 48, _mm512_add_epi32(base, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(places, 3))));
  }
  end.separators += block.count;
  end.separator_count += block.count;
}

// The marks among those of 64 bytes that are `inside`; `wanted` are line feed, delimiter and quote.
MILLRACE_AVX512_INLINE IndexBlock find(__m512i bytes, __mmask64 inside, const __m512i (&wanted)[3]) {
  const uint64_t lines = _mm512_mask_cmpeq_epi8_mask(inside, bytes, wanted[0]);
  IndexBlock out;
  out.separators = _mm512_mask_cmpeq_epi8_mask(inside, bytes, wanted[1]) | lines;
  out.events = _mm512_mask_cmpeq_epi8_mask(inside, bytes, wanted[2]) | lines;
  out.count = static_cast<uint32_t>(std::popcount(out.separators));
  return out;
}

}  // namespace

IndexEnd index_sse2(const char* text, size_t from, size_t to, const TextMarks& marks, IndexEnd end) {
  const __m128i line_feed = _mm_set1_epi8('\n'), delimiter = _mm_set1_epi8(marks.delimiter);
  const __m128i quote = _mm_set1_epi8(marks.quote.value_or('\n'));
  size_t at = from;
  for (; at + 64 <= to; at += 64) {
    const auto* here = reinterpret_cast<const __m128i*>(text + at);
    const __m128i bytes[4] = {_mm_loadu_si128(here), _mm_loadu_si128(here + 1), _mm_loadu_si128(here + 2),
                              _mm_loadu_si128(here + 3)};
    const Found separators = find(bytes, delimiter, line_feed);
    const IndexBlock block = {static_cast<uint32_t>(at), separators.bits, find(bytes, quote, line_feed).bits,
                              separators.count};
    add_events(block, end);
    add_separators(block, uint64_t{1} << 63, end);
  }
  return index_words(text, at, to, marks, end);
}

MILLRACE_AVX2 IndexEnd index_avx2(const char* text, size_t from, size_t to, const TextMarks& marks, IndexEnd end) {
  const __m256i delimiter = _mm256_set1_epi8(marks.delimiter), line_feed = _mm256_set1_epi8('\n');
  const __m256i quote = _mm256_set1_epi8(marks.quote.value_or('\n'));
  size_t at = from;
  for (; at + 64 <= to; at += 64) {
    const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(text + at));
    const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(text + at + 32));
    const uint64_t lines = equal_bytes(low, high, line_feed);
    const uint64_t separators = equal_bytes(low, high, delimiter) | lines;
    const IndexBlock block = {static_cast<uint32_t>(at), separators, equal_bytes(low, high, quote) | lines,
                              static_cast<uint32_t>(std::popcount(separators))};
    add_events(block, end);
    add_separators(block, 0, end);
  }
  return index_sse2(text, at, to, marks, end);
}

MILLRACE_AVX512 IndexEnd index_avx512(const char* text, size_t from, size_t to, const TextMarks& marks, IndexEnd end) {
  const __m512i wanted[3] = {_mm512_set1_epi8('\n'), _mm512_set1_epi8(marks.delimiter),
                             _mm512_set1_epi8(marks.quote.value_or('\n'))};
  for (size_t at = from; at < to; at += 64) {
    const bool whole = to - at >= 64;
    const uint64_t inside = whole ? ~uint64_t{0} : (uint64_t{1} << (to - at)) - 1;
    IndexBlock block = whole ? find(_mm512_loadu_si512(text + at), ~uint64_t{0}, wanted)
                             : find(_mm512_maskz_loadu_epi8(inside, text + at), inside, wanted);
    block.at = static_cast<uint32_t>(at);
    add_events(block, end);
    add_separators_avx512(block, end);
  }
  return end;
}

}  // namespace millrace

#endif
