// Registers of 8 floats, for the functions of dots.h. Call these only if the processor has AVX2 and FMA.
#pragma once

#if defined(__x86_64__)

#include <immintrin.h>

#include <array>
#include <cstddef>
#include <cstdint>

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
// That header gives false positives, also in the rest of the file that includes this one.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#define MILLRACE_FMA256 __attribute__((target("avx2,fma")))
#define MILLRACE_FMA256_INLINE MILLRACE_FMA256 __attribute__((always_inline)) inline

// Before a loop over an array of registers: if it is not unrolled, the array is in memory.
#if defined(__clang__)
#define MILLRACE_UNROLL _Pragma("unroll")
#else
#define MILLRACE_UNROLL _Pragma("GCC unroll 16")
#endif

namespace millrace::cpu {

// A template's argument must be a type without attributes, so not __m256 itself.
struct Floats8 {
  __m256 v;
};

// Reads 8 floats.
struct LoadAll {
  MILLRACE_FMA256_INLINE __m256 operator()(const float* from) const { return _mm256_loadu_ps(from); }
};

// Reads the first `count`, fewer than 8, and sets the others to 0.
struct LoadFirst {
  MILLRACE_FMA256_INLINE explicit LoadFirst(int64_t count)
      : mask(_mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)),
                                _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))) {}
  MILLRACE_FMA256_INLINE __m256 operator()(const float* from) const { return _mm256_maskload_ps(from, mask); }

  __m256i mask;
};

// The sums of each register's lanes, as dots.h joins them. The first step adds the halves of each register.
MILLRACE_FMA256_INLINE __m128 halves_added(const Floats8& x) {
  return _mm_add_ps(_mm256_castps256_ps128(x.v), _mm256_extractf128_ps(x.v, 1));
}
MILLRACE_FMA256_INLINE __m128 sums_of_4(const std::array<Floats8, 4>& x) {
  const __m128 h0 = halves_added(x[0]), h1 = halves_added(x[1]), h2 = halves_added(x[2]), h3 = halves_added(x[3]);
  const __m128 q01 = _mm_add_ps(_mm_movelh_ps(h0, h1), _mm_movehl_ps(h1, h0));
  const __m128 q23 = _mm_add_ps(_mm_movelh_ps(h2, h3), _mm_movehl_ps(h3, h2));
  return _mm_add_ps(_mm_shuffle_ps(q01, q23, 0x88), _mm_shuffle_ps(q01, q23, 0xdd));
}

// The same in one register for two: the lower half is about `low`, the upper one about `high`.
MILLRACE_FMA256_INLINE __m256 halves_added(const Floats8& low, const Floats8& high) {
  return _mm256_add_ps(_mm256_blend_ps(low.v, high.v, 0xf0), _mm256_permute2f128_ps(low.v, high.v, 0x21));
}
MILLRACE_FMA256_INLINE __m256 quarters_added(__m256 x, __m256 y) {
  const __m256 crossed = _mm256_castpd_ps(_mm256_shuffle_pd(_mm256_castps_pd(x), _mm256_castps_pd(y), 0x5));
  return _mm256_add_ps(_mm256_blend_ps(x, y, 0xcc), crossed);
}
MILLRACE_FMA256_INLINE __m256 sums_of_8(const std::array<Floats8, 8>& x) {
  const __m256 q01 = quarters_added(halves_added(x[0], x[4]), halves_added(x[1], x[5]));
  const __m256 q23 = quarters_added(halves_added(x[2], x[6]), halves_added(x[3], x[7]));
  return _mm256_add_ps(_mm256_shuffle_ps(q01, q23, 0x88), _mm256_shuffle_ps(q01, q23, 0xdd));
}

}  // namespace millrace::cpu

#endif
