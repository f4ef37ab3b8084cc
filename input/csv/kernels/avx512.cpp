// Numbers eight at a time, with AVX-512.
//
// The digits become an integer, and this integer over a power of ten is the number. If the quotient might round in
// another way than the text, the field is parsed alone.
#include "millrace/input/csv/kernels/kernels.h"

#if defined(__x86_64__)

#include <bit>
#include <cstddef>
#include <cstdint>

#include "millrace/input/csv/kernels/avx512_digits.h"
#include "millrace/input/csv/kernels/powers_of_ten.h"
#include "millrace/input/csv/kernels/targets.h"
#include "millrace/input/csv/number_parser.h"

namespace millrace {

namespace {

using namespace avx512;

MILLRACE_AVX512_INLINE __m512d signed_by(__m512d value, __mmask8 negative) {
  return _mm512_mask_xor_pd(value, negative, value, _mm512_set1_pd(-0.0));
}

MILLRACE_AVX512_INLINE __m512i signed_by(__m512i value, __mmask8 negative) {
  return _mm512_mask_sub_epi64(value, negative, _mm512_setzero_si512(), value);
}

// Picks one of 16 numbers for each lane.
MILLRACE_AVX512_INLINE __m512d one_of(const double* numbers, __m256i which) {
  return _mm512_permutex2var_pd(_mm512_load_pd(numbers), _mm512_cvtepu32_epi64(which), _mm512_load_pd(numbers + 8));
}

// Each store_ function writes the values of `lanes`, and returns a bit for each value that must be parsed alone.

// For short fields. The product with an inverse is off by less than two units in its last place. That can change the
// nearest float only if the product is near the middle of two floats.
MILLRACE_AVX512_INLINE __mmask8 store_short(const Digits& digits, __mmask8 lanes, const Constants& c, float* out) {
  alignas(64) static constexpr double kInverses[16] = {1e-0, 1e-1, 1e-2,  1e-3,  1e-4,  1e-5,  1e-6,  1e-7,
                                                       1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14, 1e-15};
  const __m512d value = _mm512_mul_pd(_mm512_cvtepi64_pd(digits.low), one_of(kInverses, digits.decimals));
  const __m512i above_middle = _mm512_add_epi64(_mm512_castpd_si512(value), c.from_middle);
  const __mmask8 near_middle = _mm512_testn_epi64_mask(above_middle, c.not_near);
  _mm256_mask_storeu_ps(out, lanes, _mm512_cvtpd_ps(signed_by(value, digits.negative)));
  return static_cast<__mmask8>(digits.bad | near_middle);
}

// The quotient of two exact doubles is the nearest double.
MILLRACE_AVX512_INLINE __mmask8 store_short(const Digits& digits, __mmask8 lanes, const Constants&, double* out) {
  const __m512d value = _mm512_div_pd(_mm512_cvtepi64_pd(digits.low), one_of(kTens.high.data(), digits.decimals));
  _mm512_mask_storeu_pd(out, lanes, signed_by(value, digits.negative));
  return digits.bad;
}

MILLRACE_AVX512_INLINE __mmask8 store_whole(const Digits& digits, __mmask8 lanes, int64_t* out) {
  _mm512_mask_storeu_epi64(out, lanes, signed_by(digits.low, digits.negative));
  return static_cast<__mmask8>(digits.bad | ~digits.whole);
}

MILLRACE_AVX512_INLINE __mmask8 store_whole(const Digits& digits, __mmask8 lanes, int32_t* out) {
  const __m512i value = signed_by(digits.low, digits.negative);
  const __m256i narrow = _mm512_cvtepi64_epi32(value);
  const __mmask8 lost = _mm512_cmpneq_epi64_mask(_mm512_cvtepi32_epi64(narrow), value);
  _mm256_mask_storeu_epi32(out, lanes, narrow);
  return static_cast<__mmask8>(digits.bad | ~digits.whole | lost);
}

template <class T>
MILLRACE_AVX512_INLINE __mmask8 store_short(const Digits& digits, __mmask8 lanes, const Constants&, T* out) {
  return store_whole(digits, lanes, out);
}

// For long fields. As a double the value is off by less than five units in its last place (two roundings of the digits,
// one of the power, one of the quotient). That can change the nearest float only if the value is near the middle of two
// floats.
MILLRACE_AVX512_INLINE __mmask8 store_long(const Digits& digits, __mmask8 lanes, float* out) {
  const __mmask8 too_far = _mm256_cmpge_epu32_mask(digits.decimals, _mm256_set1_epi32(static_cast<int>(kPowersOfTen)));
  const __m256i decimals = _mm256_maskz_mov_epi32(static_cast<__mmask8>(~too_far), digits.decimals);
  const __m512d power = _mm512_i32gather_pd(decimals, kTens.high.data(), 8);
  const __m512d all =
      _mm512_fmadd_pd(_mm512_cvtepi64_pd(digits.high), _mm512_set1_pd(1e16), _mm512_cvtepi64_pd(digits.low));
  const __m512d value = _mm512_div_pd(all, power);
  const __m512i bits = _mm512_castpd_si512(value);
  const __mmask8 near_middle =
      _mm512_testn_epi64_mask(_mm512_sub_epi64(bits, _mm512_set1_epi64(0x10000000 - 8)), _mm512_set1_epi64(0x1ffffff0));
  // The values must be normal as a float, or zero; none is too large for a float.
  const __mmask8 normal = _mm512_cmpge_epu64_mask(_mm512_srli_epi64(bits, 52), _mm512_set1_epi64(1023 - 126));
  const __mmask8 zero = _mm512_testn_epi64_mask(bits, bits);
  _mm256_mask_storeu_ps(out, lanes, _mm512_cvtpd_ps(signed_by(value, digits.negative)));
  return static_cast<__mmask8>(digits.bad | too_far | near_middle | ~(normal | zero));
}

// A quotient of sums of two doubles. The correction is at most 2^-51 of the quotient and has few roundings, so their
// sum is off by less than 2^-101 of its size. If this error cannot change the nearest double, that double is right.
MILLRACE_AVX512_INLINE __mmask8 store_long(const Digits& digits, __mmask8 lanes, double* out) {
  const __mmask8 too_far = static_cast<__mmask8>(
      _mm256_cmpge_epu32_mask(digits.decimals, _mm256_set1_epi32(static_cast<int>(kPowersOfTen))) |
      _mm512_cmpge_epu64_mask(digits.high, _mm512_set1_epi64(1000)));
  const __m256i decimals = _mm256_maskz_mov_epi32(static_cast<__mmask8>(~too_far), digits.decimals);
  const __m512d power_high = _mm512_i32gather_pd(decimals, kTens.high.data(), 8);
  const __m512d power_low = _mm512_i32gather_pd(decimals, kTens.low.data(), 8);
  const __m512i all =
      _mm512_add_epi64(_mm512_mullo_epi64(digits.high, _mm512_set1_epi64(10000000000000000)), digits.low);
  const __m512d all_high = _mm512_cvtepu64_pd(all);
  const __m512d all_low = _mm512_cvtepi64_pd(_mm512_sub_epi64(all, _mm512_cvtpd_epu64(all_high)));
  const __m512d quotient = _mm512_div_pd(all_high, power_high);
  const __m512d remainder = _mm512_fnmadd_pd(quotient, power_high, all_high);  // exact
  const __m512d correction =
      _mm512_div_pd(_mm512_fnmadd_pd(quotient, power_low, _mm512_add_pd(remainder, all_low)), power_high);
  const __m512d doubt = _mm512_mul_pd(quotient, _mm512_set1_pd(0x1p-98));
  const __m512d least = _mm512_add_pd(quotient, _mm512_sub_pd(correction, doubt));
  const __m512d most = _mm512_add_pd(quotient, _mm512_add_pd(correction, doubt));
  _mm512_mask_storeu_pd(out, lanes, signed_by(least, digits.negative));
  return static_cast<__mmask8>(digits.bad | too_far | _mm512_cmp_pd_mask(least, most, _CMP_NEQ_OQ));
}

template <class T>
MILLRACE_AVX512_INLINE __mmask8 store_long(Digits digits, __mmask8 lanes, T* out) {
  digits.bad = static_cast<__mmask8>(digits.bad | _mm512_cmpge_epu64_mask(digits.high, _mm512_set1_epi64(100)));
  digits.low = _mm512_add_epi64(_mm512_mullo_epi64(digits.high, _mm512_set1_epi64(10000000000000000)), digits.low);
  return store_whole(digits, lanes, out);
}

template <class T>
MILLRACE_AVX512 __attribute__((noinline)) uint32_t parse_long_eight(const char* text, const uint32_t* ends,
                                                                    const Fields& fields, __m256i lengths,
                                                                    __mmask8 lanes, T* out) {
  return store_long(long_digits(text, ends, fields, lengths), lanes, out) & uint32_t{lanes};
}

// Parses the fields of `lanes`, up to eight; the other lanes repeat the last field. Returns a bit for each field that
// must be parsed alone.
template <class T>
MILLRACE_AVX512_INLINE uint32_t parse_eight(const char* text, const uint32_t* ends, const Fields& fields,
                                            __mmask8 lanes, const Constants& c, T* out) {
  if (ends[0] < kReach) return lanes;
  const __m256i lengths = _mm256_sub_epi32(fields.ends, fields.starts);
  // Fetches the text that is indexed next into the cache. (The address may lie beyond the text, since nothing is read.)
  _mm_prefetch(text + ends[0] + 16384, _MM_HINT_T0);
  const __mmask8 is_long = _mm256_cmpgt_epu32_mask(lengths, c.fifteen);
  if (is_long == 0) {
    const uint32_t bad = store_short(short_digits(text, ends, lengths, c), lanes, c, out) & uint32_t{lanes};
    // A single bad field is parsed alone.
    if ((bad & (bad - 1)) == 0) return bad;
  }
  return parse_long_eight(text, ends, fields, lengths, lanes, out);
}

// Parses the fields of `alone`, whose bit 0 is field `first`. Returns the first field that is not a number, or
// run.count.
template <class T>
size_t parse_alone(const FieldRun& run, size_t first, uint32_t alone, T* out) {
  for (; alone != 0; alone &= alone - 1) {
    const size_t field = first + static_cast<size_t>(std::countr_zero(alone));
    const size_t begin = run.start(field);
    if (parse_number({run.text + begin, run.ends[field] - begin}, out[field]) != NumberStatus::ok) return field;
  }
  return run.count;
}

template <class T>
MILLRACE_AVX512 size_t parse_run_avx512(const FieldRun& run, T* out) {
  const Constants c;
  const __m256i one = _mm256_set1_epi32(1);
  __m256i before = _mm256_set1_epi32(static_cast<int>(static_cast<uint32_t>(run.begin) - 1));
  size_t field = 0;
  for (; field + 8 <= run.count; field += 8) {
    Fields fields;
    fields.ends = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(run.ends + field));
    fields.starts = _mm256_add_epi32(_mm256_alignr_epi32(fields.ends, before, 7), one);
    before = fields.ends;
    const uint32_t alone = parse_eight(run.text, run.ends + field, fields, 0xff, c, out + field);
    if (alone == 0) [[likely]]
      continue;
    const size_t done = parse_alone(run, field, alone, out);
    if (done != run.count) return done;
  }
  if (field < run.count) {
    const auto left = static_cast<uint32_t>(run.count - field);
    const auto lanes = static_cast<__mmask8>((1u << left) - 1);
    const __m256i order =
        _mm256_min_epu32(_mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0), _mm256_set1_epi32(static_cast<int>(left - 1)));
    Fields fields;
    fields.ends = _mm256_maskz_loadu_epi32(lanes, run.ends + field);
    fields.starts = _mm256_add_epi32(_mm256_alignr_epi32(fields.ends, before, 7), one);
    fields.ends = _mm256_permutexvar_epi32(order, fields.ends);
    fields.starts = _mm256_permutexvar_epi32(order, fields.starts);
    alignas(32) uint32_t ends[8];
    _mm256_store_si256(reinterpret_cast<__m256i*>(ends), fields.ends);
    return parse_alone(run, field, parse_eight(run.text, ends, fields, lanes, c, out + field), out);
  }
  return run.count;
}

}  // namespace

const CsvKernels* avx512_csv_kernels() {
  static constexpr CsvKernels kKernels = {
      {parse_run_avx512<float>, parse_run_avx512<double>, parse_run_avx512<int32_t>, parse_run_avx512<int64_t>},
      index_avx512};
  return &kKernels;
}

}  // namespace millrace

#endif
