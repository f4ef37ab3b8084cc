// The digits of eight fields at a time, with AVX-512 (BW, VL, DQ, CD, VBMI, VBMI2, BITALG).
//
// A field is loaded so that its last byte is the last byte of a lane of 16 bytes (a long field takes two lanes). The
// bytes before the dot move up by one, over the dot, so that the lane holds only digits. Four multiplications make an
// integer from them. Only avx512.cpp includes this file.
#pragma once

#if defined(__x86_64__)

#include <cstdint>

#include "millrace/input/csv/kernels/targets.h"

namespace millrace::avx512 {

// The lowest and the highest bit of each of four 16-bit parts.
constexpr uint64_t kLowest = 0x0001000100010001;
constexpr uint64_t kHighest = kLowest << 15;

// Eight fields: [starts, ends), as positions in the text.
struct Fields {
  __m256i starts;
  __m256i ends;
};

// The values of eight fields: (`high` * 10^16 + `low`) / 10^`decimals`.
struct Digits {
  __m512i high;
  __m512i low;
  __m256i decimals;
  __mmask8 negative;
  __mmask8 whole;  // neither dot nor exponent
  __mmask8 bad;    // the field is not of this form
};

// The constants of the short path. kept() makes the compiler keep them in registers; without it, the compiler would
// make each constant again for every group.
template <class V>
MILLRACE_AVX512_INLINE V kept(V value) {
  asm("" : "+v"(value));
  return value;
}

struct Constants {
  __m512i zero = kept(_mm512_set1_epi8('0'));
  __m512i nine = kept(_mm512_set1_epi8(9));
  __m512i one = kept(_mm512_set1_epi8(1));
  __m512i dot = kept(_mm512_set1_epi8('.' - '0'));
  __m512i minus = kept(_mm512_set1_epi8('-' - '0'));
  __m512i to_end = kept(_mm512_broadcast_i32x4(_mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)));
  __m512i even = kept(_mm512_set_epi64(0x1818181818181818, 0x1818181818181818, 0x1010101010101010, 0x1010101010101010,
                                       0x0808080808080808, 0x0808080808080808, 0, 0));
  __m512i odd = kept(_mm512_set_epi64(0x1c1c1c1c1c1c1c1c, 0x1c1c1c1c1c1c1c1c, 0x1414141414141414, 0x1414141414141414,
                                      0x0c0c0c0c0c0c0c0c, 0x0c0c0c0c0c0c0c0c, 0x0404040404040404, 0x0404040404040404));
  __m512i tens = kept(_mm512_set1_epi16(0x010a));
  __m512i hundreds = kept(_mm512_set1_epi32(0x00010064));
  __m512i ten_thousands = kept(_mm512_set1_epi32(0x00012710));
  __m512i hundred_millions = kept(_mm512_set1_epi64(100000000));
  __m512i from_middle = kept(_mm512_set1_epi64(8 - 0x10000000));
  __m512i not_near = kept(_mm512_set1_epi64(0x1ffffff0));
  __m256i fifteen = kept(_mm256_set1_epi32(15));
  __m256i one_each = kept(_mm256_set1_epi32(1));
  __m256i sixteen = kept(_mm256_set1_epi32(16));
  MILLRACE_AVX512_INLINE Constants() {}
};

MILLRACE_AVX512_INLINE __m128i load(const char* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}

// The 16 bytes before `text` + ends[0], ends[2], ends[4], ends[6].
MILLRACE_AVX512_INLINE __m512i load_four(const char* text, const uint32_t* ends) {
  const __m256i low =
      _mm256_inserti128_si256(_mm256_castsi128_si256(load(text + ends[0] - 16)), load(text + ends[2] - 16), 1);
  const __m256i high =
      _mm256_inserti128_si256(_mm256_castsi128_si256(load(text + ends[4] - 16)), load(text + ends[6] - 16), 1);
  return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

// The integers in lanes of 16 digits, from `even` and `odd` in turn.
MILLRACE_AVX512_INLINE __m512i integers(__m512i even, __m512i odd, const Constants& c) {
  even = _mm512_madd_epi16(_mm512_maddubs_epi16(even, c.tens), c.hundreds);
  odd = _mm512_madd_epi16(_mm512_maddubs_epi16(odd, c.tens), c.hundreds);
  const __m512i eights = _mm512_madd_epi16(_mm512_packus_epi32(even, odd), c.ten_thousands);
  return _mm512_add_epi64(_mm512_mul_epu32(eights, c.hundred_millions), _mm512_srli_epi64(eights, 32));
}

// Four fields of at most 15 bytes. Each bit of the masks stands for one byte of the lanes.
struct Four {
  __m512i digits;
  uint64_t minus;   // a minus as first byte
  uint64_t region;  // the dot and the bytes before it; empty without a dot
  uint64_t wrong;   // neither a digit, nor that minus, nor the only dot
};

// Each byte of a lane of `lengths` holds the length of the lane's field.
MILLRACE_AVX512_INLINE Four four_of(__m512i bytes, __m512i lengths, const Constants& c) {
  const __mmask64 inside = _mm512_cmpgt_epu8_mask(lengths, c.to_end);
  const __mmask64 first = _mm512_cmpeq_epi8_mask(_mm512_sub_epi8(lengths, c.one), c.to_end);
  // A byte of the field that is not a digit becomes more than 9; a byte outside the field becomes 0.
  const __m512i values = _mm512_maskz_sub_epi8(inside, bytes, c.zero);
  const __mmask64 others = _mm512_cmpgt_epu8_mask(values, c.nine);
  const uint64_t dots = _cvtmask64_u64(_mm512_cmpeq_epi8_mask(values, c.dot));
  Four out;
  out.minus = _cvtmask64_u64(_mm512_mask_cmpeq_epi8_mask(first, values, c.minus));
  // No bit is carried from one lane to the next, unless a lane has two dots. Such a field is wrong, and the run ends
  // before the fields after it.
  const uint64_t below = dots - (((dots + (kHighest - kLowest)) >> 15) & kLowest);
  out.region = dots | below;
  out.wrong = (_cvtmask64_u64(others) ^ dots ^ out.minus) | (dots & below);
  const __m512i digits = _mm512_mask_mov_epi8(values, others, _mm512_setzero_si512());
  out.digits = _mm512_mask_mov_epi8(digits, _cvtu64_mask64(out.region), _mm512_bslli_epi128(digits, 1));
  return out;
}

// Puts the masks of four even and four odd fields in turn: 16 bits for each field.
MILLRACE_AVX512_INLINE __m128i in_turn(uint64_t even, uint64_t odd) {
  return _mm_unpacklo_epi16(_mm_cvtsi64_si128(static_cast<int64_t>(even)),
                            _mm_cvtsi64_si128(static_cast<int64_t>(odd)));
}

// The digits of fields of at most 15 bytes.
MILLRACE_AVX512_INLINE Digits short_digits(const char* text, const uint32_t* ends, __m256i lengths,
                                           const Constants& c) {
  const __m512i each = _mm512_castsi256_si512(lengths);
  const Four even = four_of(load_four(text, ends), _mm512_permutexvar_epi8(c.even, each), c);
  const Four odd = four_of(load_four(text, ends + 1), _mm512_permutexvar_epi8(c.odd, each), c);
  const __m128i region = in_turn(even.region, odd.region);
  const __m128i minus = in_turn(even.minus, odd.minus);
  Digits out;
  out.low = integers(even.digits, odd.digits, c);
  out.high = _mm512_setzero_si512();
  const __mmask8 has_dot = _mm_test_epi16_mask(region, region);
  out.whole = static_cast<__mmask8>(~has_dot);
  // How many of the 16 bytes are not in the region.
  out.decimals = _mm256_maskz_sub_epi32(has_dot, c.sixteen, _mm256_cvtepu16_epi32(_mm_popcnt_epi16(region)));
  out.negative = _mm_test_epi16_mask(minus, minus);
  const __m256i without_minus = _mm256_mask_sub_epi32(lengths, out.negative, lengths, c.one_each);
  const __m256i digits = _mm256_mask_sub_epi32(without_minus, has_dot, without_minus, c.one_each);
  out.bad = _mm256_testn_epi32_mask(digits, digits);
  if ((even.wrong | odd.wrong) != 0) [[unlikely]] {
    const __m128i wrong = in_turn(even.wrong, odd.wrong);
    out.bad = static_cast<__mmask8>(out.bad | _mm_test_epi16_mask(wrong, wrong));
  }
  return out;
}

// The masks of two lanes for each of four even and four odd fields. From them, in_turn() makes 32 bits for each field,
// with the first lane as the low half; apart() undoes that.
struct Lanes {
  uint64_t even_last, odd_last, even_first, odd_first;
};

MILLRACE_AVX512_INLINE __m256i in_turn(const Lanes& lanes) {
  const __m256i halves =
      _mm256_set_epi64x(static_cast<int64_t>(lanes.odd_first), static_cast<int64_t>(lanes.even_first),
                        static_cast<int64_t>(lanes.odd_last), static_cast<int64_t>(lanes.even_last));
  const __m256i order = _mm256_set_epi16(7, 15, 3, 11, 6, 14, 2, 10, 5, 13, 1, 9, 4, 12, 0, 8);
  return _mm256_permutexvar_epi16(order, halves);
}

MILLRACE_AVX512_INLINE Lanes apart(__m256i masks) {
  const __m256i order = _mm256_set_epi16(14, 10, 6, 2, 12, 8, 4, 0, 15, 11, 7, 3, 13, 9, 5, 1);
  const __m256i halves = _mm256_permutexvar_epi16(order, masks);
  const __m128i last = _mm256_castsi256_si128(halves), first = _mm256_extracti128_si256(halves, 1);
  return {static_cast<uint64_t>(_mm_cvtsi128_si64(last)), static_cast<uint64_t>(_mm_extract_epi64(last, 1)),
          static_cast<uint64_t>(_mm_cvtsi128_si64(first)), static_cast<uint64_t>(_mm_extract_epi64(first, 1))};
}

// The exponents at the end of fields, of the form e-05; 0 for fields without one.
struct Exponents {
  __mmask8 there;
  __m256i values;
};

MILLRACE_AVX512_INLINE Exponents exponents(const char* text, const Fields& fields, __m256i lengths,
                                           uint32_t first_end) {
  const __m256i low = _mm256_set1_epi32(0xff);
  // Offsets from the first field's end, because a gather takes signed offsets.
  const __m256i at = _mm256_sub_epi32(fields.ends, _mm256_set1_epi32(static_cast<int>(first_end)));
  const __m256i tails = _mm256_i32gather_epi32(reinterpret_cast<const int*>(text + first_end - 4), at, 1);
  const __m256i letter = _mm256_or_si256(_mm256_and_si256(tails, low), _mm256_set1_epi32(0x20));
  const __m256i sign = _mm256_and_si256(_mm256_srli_epi32(tails, 8), low);
  const __m256i digits = _mm256_sub_epi32(_mm256_srli_epi32(tails, 16), _mm256_set1_epi32(0x3030));
  const __m256i tens = _mm256_and_si256(digits, low), ones = _mm256_srli_epi32(digits, 8);
  const __mmask8 minus = _mm256_cmpeq_epi32_mask(sign, _mm256_set1_epi32('-'));
  const __mmask8 plus = _mm256_cmpeq_epi32_mask(sign, _mm256_set1_epi32('+'));
  const __m256i nine = _mm256_set1_epi32(9);
  Exponents out;
  out.there = static_cast<__mmask8>(_mm256_cmpeq_epi32_mask(letter, _mm256_set1_epi32('e')) & (minus | plus) &
                                    _mm256_cmple_epu32_mask(tens, nine) & _mm256_cmple_epu32_mask(ones, nine) &
                                    _mm256_cmpgt_epu32_mask(lengths, _mm256_set1_epi32(4)));
  const __m256i value = _mm256_add_epi32(_mm256_mullo_epi16(tens, _mm256_set1_epi32(10)), ones);
  out.values = _mm256_maskz_mov_epi32(out.there, _mm256_mask_sub_epi32(value, minus, _mm256_setzero_si256(), value));
  return out;
}

// The digits of fields of at most 32 bytes, not counting an exponent; longer fields are bad. REQUIRES: kReach bytes lie
// before the first end.
MILLRACE_AVX512_INLINE Digits long_digits(const char* text, const uint32_t* ends, const Fields& fields,
                                          __m256i lengths) {
  const Exponents exponent = exponents(text, fields, lengths, ends[0]);
  const __m256i four = _mm256_maskz_mov_epi32(exponent.there, _mm256_set1_epi32(4));
  lengths = _mm256_sub_epi32(lengths, four);
  alignas(32) uint32_t digit_ends[8];
  _mm256_store_si256(reinterpret_cast<__m256i*>(digit_ends), _mm256_sub_epi32(fields.ends, four));
  // A shift by 32 or more gives 0, and so does a shift by a negative number.
  const __m256i valid = _mm256_sllv_epi32(_mm256_set1_epi32(-1), _mm256_sub_epi32(_mm256_set1_epi32(32), lengths));
  const Lanes in = apart(valid);

  const __m512i even_last = load_four(text, digit_ends), odd_last = load_four(text, digit_ends + 1);
  const __m512i even_first = load_four(text - 16, digit_ends), odd_first = load_four(text - 16, digit_ends + 1);
  const __m512i dots = _mm512_set1_epi8('.'), minuses = _mm512_set1_epi8('-'), zero = _mm512_set1_epi8('0'),
                ten = _mm512_set1_epi8(10);
  const Lanes digit_bits = {_mm512_mask_cmplt_epu8_mask(in.even_last, _mm512_sub_epi8(even_last, zero), ten),
                            _mm512_mask_cmplt_epu8_mask(in.odd_last, _mm512_sub_epi8(odd_last, zero), ten),
                            _mm512_mask_cmplt_epu8_mask(in.even_first, _mm512_sub_epi8(even_first, zero), ten),
                            _mm512_mask_cmplt_epu8_mask(in.odd_first, _mm512_sub_epi8(odd_first, zero), ten)};
  const __m256i is_digit = in_turn(digit_bits);
  const __m256i dot = in_turn({_mm512_mask_cmpeq_epi8_mask(in.even_last, even_last, dots),
                               _mm512_mask_cmpeq_epi8_mask(in.odd_last, odd_last, dots),
                               _mm512_mask_cmpeq_epi8_mask(in.even_first, even_first, dots),
                               _mm512_mask_cmpeq_epi8_mask(in.odd_first, odd_first, dots)});
  const __m256i any_minus = in_turn({_mm512_mask_cmpeq_epi8_mask(in.even_last, even_last, minuses),
                                     _mm512_mask_cmpeq_epi8_mask(in.odd_last, odd_last, minuses),
                                     _mm512_mask_cmpeq_epi8_mask(in.even_first, even_first, minuses),
                                     _mm512_mask_cmpeq_epi8_mask(in.odd_first, odd_first, minuses)});
  const __m256i none = _mm256_setzero_si256();
  const __m256i first = _mm256_and_si256(valid, _mm256_sub_epi32(none, valid));
  const __m256i minus = _mm256_and_si256(any_minus, first);
  const __m256i below = _mm256_sub_epi32(dot, _mm256_set1_epi32(1));
  const __mmask8 has_dot = _mm256_test_epi32_mask(dot, dot);
  const __m256i taken = _mm256_or_si256(is_digit, _mm256_or_si256(dot, minus));

  Digits out;
  out.bad = static_cast<__mmask8>(_mm256_cmpneq_epi32_mask(taken, valid) | _mm256_test_epi32_mask(dot, below) |
                                  _mm256_testn_epi32_mask(is_digit, is_digit));
  out.negative = _mm256_test_epi32_mask(minus, minus);
  out.whole = static_cast<__mmask8>(~(has_dot | exponent.there));
  out.decimals = _mm256_sub_epi32(_mm256_maskz_lzcnt_epi32(has_dot, dot), exponent.values);

  const Constants c;
  const Lanes region = apart(_mm256_maskz_or_epi32(has_dot, dot, below));
  const __m512i even_end = _mm512_maskz_sub_epi8(digit_bits.even_last, even_last, zero);
  const __m512i odd_end = _mm512_maskz_sub_epi8(digit_bits.odd_last, odd_last, zero);
  const __m512i even_begin = _mm512_maskz_sub_epi8(digit_bits.even_first, even_first, zero);
  const __m512i odd_begin = _mm512_maskz_sub_epi8(digit_bits.odd_first, odd_first, zero);
  out.low = integers(_mm512_mask_mov_epi8(even_end, region.even_last, _mm512_alignr_epi8(even_end, even_begin, 15)),
                     _mm512_mask_mov_epi8(odd_end, region.odd_last, _mm512_alignr_epi8(odd_end, odd_begin, 15)), c);
  out.high = integers(_mm512_mask_mov_epi8(even_begin, region.even_first, _mm512_bslli_epi128(even_begin, 1)),
                      _mm512_mask_mov_epi8(odd_begin, region.odd_first, _mm512_bslli_epi128(odd_begin, 1)), c);
  return out;
}

}  // namespace millrace::avx512

#endif
