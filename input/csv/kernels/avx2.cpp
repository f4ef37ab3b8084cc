// Four fields at a time, with AVX2 and FMA.
//
// The method is that of avx512.cpp, but with four fields: each field is loaded so that its last byte is the last of 16
// (a long field: of 32), the bytes before the dot move up by one, and four fields become integers together.
#include "millrace/input/csv/kernels/kernels.h"

#if defined(__x86_64__)

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "millrace/input/csv/kernels/powers_of_ten.h"
#include "millrace/input/csv/kernels/targets.h"
#include "millrace/input/csv/number_parser.h"

namespace millrace {

namespace {

// For each place of the dot in 16 bytes, the shuffle that moves the bytes before it up by one; the last one is for no
// dot.
alignas(64) constexpr auto kShifts = [] {
  std::array<std::array<uint8_t, 16>, 17> out{};
  for (uint8_t dot = 0; dot <= 16; ++dot) {
    for (uint8_t to = 0; to < 16; ++to) out[dot][to] = dot < 16 && to <= dot ? static_cast<uint8_t>(to - 1) : to;
  }
  return out;
}();

// 32 bytes that are set, between 32 and 32 that are not.
alignas(64) constexpr auto kSet = [] {
  std::array<uint8_t, 96> out{};
  for (size_t i = 32; i < 64; ++i) out[i] = 0xff;
  return out;
}();

MILLRACE_AVX2_INLINE __m128i load(const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); }

MILLRACE_AVX2_INLINE __m256i load_256(const void* from) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}

// A field of digits: value / 10^decimals.
struct Field {
  __m128i digits;
  uint32_t decimals;
  bool negative;
  bool whole;
  bool bad;  // the text does not have this form
};

MILLRACE_AVX2_INLINE Field field_of(const char* first, const char* last) {
  Field out;
  // The text may end after an empty field, so nothing is read there.
  out.negative = *(first - (first == last ? 1 : 0)) == '-';
  const auto length = static_cast<uint32_t>(last - first) - (out.negative ? 1 : 0);
  const bool fits = length - 1 < 15;  // 1 to 15
  const __m128i inside = load(kSet.data() + 16 + (fits ? length : 0));
  const __m128i values = _mm_and_si128(_mm_xor_si128(load(last - 16), _mm_set1_epi8('0')), inside);
  const __m128i nines = _mm_min_epu8(values, _mm_set1_epi8(9));
  const auto digits = static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(nines, values)));
  const auto dots = static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(values, _mm_set1_epi8('.' ^ '0'))));
  out.whole = dots == 0;
  // Only digits and at most one dot, and not only a dot.
  out.bad = !fits || (digits ^ dots) != 0xffff || (dots & (dots - 1)) != 0 || length <= (out.whole ? 0u : 1u);
  const auto dot = static_cast<uint32_t>(std::countr_zero(dots | 0x10000u));
  out.decimals = out.whole ? 0 : 15 - dot;
  out.digits = _mm_shuffle_epi8(values, load(kShifts[dot].data()));
  return out;
}

// Turns four times 16 digits into integers.
MILLRACE_AVX2_INLINE __m256i integers(__m128i a, __m128i b, __m128i c, __m128i d) {
  const __m256i tens = _mm256_set1_epi16(0x010a), hundreds = _mm256_set1_epi32(0x00010064);
  const __m256i even = _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_set_m128i(c, a), tens), hundreds);
  const __m256i odd = _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_set_m128i(d, b), tens), hundreds);
  const __m256i eights = _mm256_madd_epi16(_mm256_packus_epi32(even, odd), _mm256_set1_epi32(0x00012710));
  return _mm256_add_epi64(_mm256_mul_epu32(eights, _mm256_set1_epi64x(100000000)), _mm256_srli_epi64(eights, 32));
}

// Converts integers below 2^52.
MILLRACE_AVX2_INLINE __m256d doubles(__m256i values) {
  const __m256i magic = _mm256_set1_epi64x(0x4330000000000000);
  return _mm256_sub_pd(_mm256_castsi256_pd(_mm256_or_si256(values, magic)), _mm256_castsi256_pd(magic));
}

MILLRACE_AVX2_INLINE __m256i sign_masks(const Field (&fields)[4]) {
  return _mm256_set_epi64x(-int64_t{fields[3].negative}, -int64_t{fields[2].negative}, -int64_t{fields[1].negative},
                           -int64_t{fields[0].negative});
}

// The nearest doubles, because they are quotients of two exact doubles.
MILLRACE_AVX2_INLINE __m256d quotients(const Field (&fields)[4], __m256i values) {
  const __m256d powers = _mm256_set_pd(kTens.high[fields[3].decimals], kTens.high[fields[2].decimals],
                                       kTens.high[fields[1].decimals], kTens.high[fields[0].decimals]);
  const __m256d signs = _mm256_and_pd(_mm256_castsi256_pd(sign_masks(fields)), _mm256_set1_pd(-0.0));
  return _mm256_xor_pd(_mm256_div_pd(doubles(values), powers), signs);
}

// Each of these writes four values, and returns a bit for each value that must be parsed alone.

MILLRACE_AVX2_INLINE uint32_t store(const Field (&fields)[4], __m256i values, double* out) {
  _mm256_storeu_pd(out, quotients(fields, values));
  return 0;
}

// The nearest float of the nearest double is the nearest float, unless that double lies in the middle of two.
MILLRACE_AVX2_INLINE uint32_t store(const Field (&fields)[4], __m256i values, float* out) {
  const __m256d value = quotients(fields, values);
  const __m256i rest = _mm256_and_si256(_mm256_castpd_si256(value), _mm256_set1_epi64x(0x1fffffff));
  const __m256i middle = _mm256_cmpeq_epi64(rest, _mm256_set1_epi64x(0x10000000));
  _mm_storeu_ps(out, _mm256_cvtpd_ps(value));
  return static_cast<uint32_t>(_mm256_movemask_pd(_mm256_castsi256_pd(middle)));
}

MILLRACE_AVX2_INLINE uint32_t not_whole(const Field (&fields)[4]) {
  uint32_t out = 0;
  for (uint32_t i = 0; i < 4; ++i) out |= static_cast<uint32_t>(!fields[i].whole) << i;
  return out;
}

MILLRACE_AVX2_INLINE __m256i signed_values(const Field (&fields)[4], __m256i values) {
  const __m256i signs = sign_masks(fields);
  return _mm256_sub_epi64(_mm256_xor_si256(values, signs), signs);
}

MILLRACE_AVX2_INLINE uint32_t store(const Field (&fields)[4], __m256i values, int64_t* out) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), signed_values(fields, values));
  return not_whole(fields);
}

MILLRACE_AVX2_INLINE uint32_t store(const Field (&fields)[4], __m256i values, int32_t* out) {
  const __m256i value = signed_values(fields, values);
  const __m128i narrow =
      _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(value, _mm256_set_epi32(7, 5, 3, 1, 6, 4, 2, 0)));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), narrow);
  const __m256i same = _mm256_cmpeq_epi64(_mm256_cvtepi32_epi64(narrow), value);
  return not_whole(fields) | (static_cast<uint32_t>(_mm256_movemask_pd(_mm256_castsi256_pd(same))) ^ 0xf);
}

// A field of up to 32 bytes besides an exponent of the form e-05: (high * 10^16 + low) / 10^decimals.
struct LongField {
  uint64_t high = 0;
  uint64_t low = 0;
  int decimals = 0;
  bool negative = false;
  bool whole = false;
};

// Takes an exponent from the end; false if there is none.
bool take_exponent(const char* first, const char*& last, int& decimals) {
  if (last - first <= 4 || (last[-4] | 0x20) != 'e' || (last[-3] != '-' && last[-3] != '+')) return false;
  const int tens = last[-2] - '0', ones = last[-1] - '0';
  if (tens < 0 || tens > 9 || ones < 0 || ones > 9) return false;
  const int exponent = tens * 10 + ones;
  decimals = last[-3] == '-' ? exponent : -exponent;
  last -= 4;
  return true;
}

// Returns false if the field does not have this form.
MILLRACE_AVX2_INLINE bool read_long(const char* first, const char* last, LongField& out) {
  const bool has_exponent = take_exponent(first, last, out.decimals);
  out.negative = first != last && *first == '-';
  const size_t length = static_cast<size_t>(last - first) - (out.negative ? 1 : 0);
  if (length - 1 >= 32) return false;
  const __m256i inside = load_256(kSet.data() + length);
  const __m256i values = _mm256_and_si256(_mm256_xor_si256(load_256(last - 32), _mm256_set1_epi8('0')), inside);
  const __m256i nines = _mm256_min_epu8(values, _mm256_set1_epi8(9));
  const auto digits = static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(nines, values)));
  const auto dots = static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(values, _mm256_set1_epi8('.' ^ '0'))));
  if ((digits ^ dots) != 0xffffffff || (dots & (dots - 1)) != 0 || length <= (dots == 0 ? 0u : 1u)) return false;
  const size_t region = dots == 0 ? 0 : static_cast<size_t>(std::countr_zero(dots)) + 1;
  out.whole = dots == 0 && !has_exponent;
  if (dots != 0) out.decimals += static_cast<int>(32 - region);
  const __m256i moved = _mm256_alignr_epi8(values, _mm256_permute2x128_si256(values, values, 0x08), 15);
  const __m256i only = _mm256_blendv_epi8(values, moved, load_256(kSet.data() + 64 - region));
  const __m256i fours =
      _mm256_madd_epi16(_mm256_maddubs_epi16(only, _mm256_set1_epi16(0x010a)), _mm256_set1_epi32(0x00010064));
  const __m256i eights = _mm256_madd_epi16(_mm256_packus_epi32(fours, fours), _mm256_set1_epi32(0x00012710));
  const auto joined = [](uint64_t pair) { return (pair & 0xffffffff) * 100000000 + (pair >> 32); };
  out.high = joined(static_cast<uint64_t>(_mm256_extract_epi64(eights, 0)));
  out.low = joined(static_cast<uint64_t>(_mm256_extract_epi64(eights, 2)));
  return true;
}

// Each of these returns false if it cannot find the nearest value.

// The quotient is off by less than five units in its last place, as in avx512.cpp. That can change the nearest float
// only if the quotient is near the middle of two floats. Values that are not normal as a float are refused; none is too
// large for a float.
MILLRACE_AVX2_INLINE bool finish(const LongField& field, float& out) {
  if (static_cast<uint32_t>(field.decimals) >= kPowersOfTen) return false;
  const double all = __builtin_fma(static_cast<double>(field.high), 1e16, static_cast<double>(field.low));
  const double value = all / kTens.high[static_cast<size_t>(field.decimals)];
  const auto bits = std::bit_cast<uint64_t>(value);
  out = static_cast<float>(field.negative ? -value : value);
  if (bits == 0) return true;
  return (((bits - (0x10000000 - 8)) & 0x1ffffff0) != 0) && bits >> 52 >= 1023 - 126;
}

// A quotient of sums of two doubles, off by less than 2^-101 of its size, as in avx512.cpp. If this error cannot change
// the nearest double, that double is right.
MILLRACE_AVX2_INLINE bool finish(const LongField& field, double& out) {
  if (static_cast<uint32_t>(field.decimals) >= kPowersOfTen || field.high >= 1000) return false;
  const double power_high = kTens.high[static_cast<size_t>(field.decimals)];
  const double power_low = kTens.low[static_cast<size_t>(field.decimals)];
  const uint64_t all = field.high * 10000000000000000 + field.low;
  const auto all_high = static_cast<double>(all);
  const auto all_low = static_cast<double>(static_cast<int64_t>(all - static_cast<uint64_t>(all_high)));
  const double quotient = all_high / power_high;
  const double remainder = __builtin_fma(-quotient, power_high, all_high);  // exact
  const double correction = __builtin_fma(-quotient, power_low, remainder + all_low) / power_high;
  const double doubt = quotient * 0x1p-98;
  const double least = quotient + (correction - doubt), most = quotient + (correction + doubt);
  out = field.negative ? -least : least;
  return least == most;
}

MILLRACE_AVX2_INLINE bool finish(const LongField& field, int64_t& out) {
  if (!field.whole || field.high >= 100) return false;
  const auto value = static_cast<int64_t>(field.high * 10000000000000000 + field.low);
  out = field.negative ? -value : value;
  return true;
}

MILLRACE_AVX2_INLINE bool finish(const LongField& field, int32_t& out) {
  int64_t value;
  if (!finish(field, value)) return false;
  out = static_cast<int32_t>(value);
  return out == value;
}

// Parses a field that parse_four() could not parse.
template <class T>
MILLRACE_AVX2 bool parse_alone(const FieldRun& run, size_t field, T& out) {
  const char* first = run.text + run.start(field);
  const char* last = run.text + run.ends[field];
  LongField digits;
  if (run.ends[field] >= kReach && read_long(first, last, digits) && finish(digits, out)) return true;
  return parse_number({first, static_cast<size_t>(last - first)}, out) == NumberStatus::ok;
}

// Parses the four fields from `first` on. Returns a bit for each field that must be parsed alone.
template <class T>
MILLRACE_AVX2_INLINE uint32_t parse_four(const FieldRun& run, size_t first, size_t begin, T* out) {
  const uint32_t* ends = run.ends + first;
  if (ends[0] < kReach) return 0xf;
  const Field fields[4] = {
      field_of(run.text + begin, run.text + ends[0]), field_of(run.text + ends[0] + 1, run.text + ends[1]),
      field_of(run.text + ends[1] + 1, run.text + ends[2]), field_of(run.text + ends[2] + 1, run.text + ends[3])};
  uint32_t bad = 0;
  for (uint32_t i = 0; i < 4; ++i) bad |= static_cast<uint32_t>(fields[i].bad) << i;
  if (bad == 0xf) return bad;
  return bad | store(fields, integers(fields[0].digits, fields[1].digits, fields[2].digits, fields[3].digits), out);
}

template <class T>
MILLRACE_AVX2 size_t parse_run_avx2(const FieldRun& run, T* out) {
  size_t field = 0, begin = run.begin;
  for (; field + 4 <= run.count; field += 4) {
    for (uint32_t alone = parse_four(run, field, begin, out + field); alone != 0; alone &= alone - 1) {
      const size_t at = field + static_cast<size_t>(std::countr_zero(alone));
      if (!parse_alone(run, at, out[at])) return at;
    }
    begin = run.ends[field + 3] + size_t{1};
  }
  for (; field < run.count; ++field) {
    if (!parse_alone(run, field, out[field])) return field;
  }
  return run.count;
}

}  // namespace

const CsvKernels* avx2_csv_kernels() {
  static constexpr CsvKernels kKernels = {
      {parse_run_avx2<float>, parse_run_avx2<double>, parse_run_avx2<int32_t>, parse_run_avx2<int64_t>}, index_avx2};
  return &kKernels;
}

}  // namespace millrace

#endif
