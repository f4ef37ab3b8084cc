#if defined(__x86_64__)

#include <immintrin.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "millrace/core/kernels/dots/dots.h"

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
// immintrin.h gives false positives.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

// Call these only if the processor has AVX2 and FMA.
#define MILLRACE_FMA256 __attribute__((target("avx2,fma")))
#define MILLRACE_FMA256_INLINE MILLRACE_FMA256 __attribute__((always_inline)) inline

// Before a loop over an array of registers: if it is not unrolled, the array is in memory.
#if defined(__clang__)
#define MILLRACE_UNROLL _Pragma("unroll")
#else
#define MILLRACE_UNROLL _Pragma("GCC unroll 16")
#endif

namespace millrace::cpu {

namespace {

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

// A tile of some rows and columns: [i][j] has the lanes of row i and column j.
template <size_t kRows, size_t kColumns>
using TileLanes = std::array<std::array<Floats8, kColumns>, kRows>;

template <size_t kRows, size_t kColumns, class Load>
MILLRACE_FMA256_INLINE void add_products(const Dots& dots, const float* a, const float* b, const Load& load,
                                         TileLanes<kRows, kColumns>& lanes) {
  std::array<Floats8, kRows> x;
  MILLRACE_UNROLL
  for (size_t i = 0; i < kRows; ++i) x[i].v = load(a + static_cast<int64_t>(i) * dots.lda);
  MILLRACE_UNROLL
  for (size_t j = 0; j < kColumns; ++j) {
    const __m256 y = load(b + static_cast<int64_t>(j) * dots.ldb);
    MILLRACE_UNROLL
    for (size_t i = 0; i < kRows; ++i) lanes[i][j].v = _mm256_fmadd_ps(x[i].v, y, lanes[i][j].v);
  }
}

template <size_t kRows, size_t kColumns>
MILLRACE_FMA256_INLINE TileLanes<kRows, kColumns> tile_lanes(const Dots& dots, const LoadFirst& rest, const float* a,
                                                             const float* b) {
  TileLanes<kRows, kColumns> lanes;
  MILLRACE_UNROLL
  for (size_t i = 0; i < kRows; ++i) {
    MILLRACE_UNROLL
    for (size_t j = 0; j < kColumns; ++j) lanes[i][j].v = _mm256_setzero_ps();
  }
  int64_t k = 0;
  for (; k + kLanes <= dots.k; k += kLanes) add_products<kRows, kColumns>(dots, a + k, b + k, LoadAll(), lanes);
  if (k < dots.k) add_products<kRows, kColumns>(dots, a + k, b + k, rest, lanes);
  return lanes;
}

// 4 columns of 1, 2 or 3 rows.
template <size_t kRows>
MILLRACE_FMA256_INLINE void rows_by_4(const Dots& dots, const LoadFirst& rest, const float* a, const float* b,
                                      float* c) {
  const TileLanes<kRows, 4> x = tile_lanes<kRows, 4>(dots, rest, a, b);
  if constexpr (kRows >= 2) {
    const __m256 two = sums_of_8({x[0][0], x[0][1], x[0][2], x[0][3], x[1][0], x[1][1], x[1][2], x[1][3]});
    _mm_storeu_ps(c, _mm256_castps256_ps128(two));
    _mm_storeu_ps(c + dots.ldc, _mm256_extractf128_ps(two, 1));
  }
  if constexpr (kRows != 2) {
    _mm_storeu_ps(c + static_cast<int64_t>(kRows - 1) * dots.ldc, sums_of_4(x[kRows - 1]));
  }
}

// A column of 8 rows.
MILLRACE_FMA256_INLINE void column_of_8(const Dots& dots, const LoadFirst& rest, const float* a, const float* b,
                                        float* c) {
  const TileLanes<8, 1> x = tile_lanes<8, 1>(dots, rest, a, b);
  alignas(32) std::array<float, 8> sums;
  _mm256_store_ps(sums.data(), sums_of_8({x[0][0], x[1][0], x[2][0], x[3][0], x[4][0], x[5][0], x[6][0], x[7][0]}));
  for (size_t i = 0; i < 8; ++i) c[static_cast<int64_t>(i) * dots.ldc] = sums[i];
}

MILLRACE_FMA256_INLINE void one_dot(const Dots& dots, const LoadFirst& rest, const float* a, const float* b, float* c) {
  const Floats8 lanes = tile_lanes<1, 1>(dots, rest, a, b)[0][0];
  *c = _mm_cvtss_f32(sums_of_4({lanes, lanes, lanes, lanes}));
}

}  // namespace

bool has_dots_avx2() { return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0; }

MILLRACE_FMA256 void dots_avx2(const Dots& dots) {
  const LoadFirst rest(dots.k % kLanes);
  const auto a = [&](int64_t row) { return dots.a + row * dots.lda; };
  const auto b = [&](int64_t column) { return dots.b + column * dots.ldb; };
  const auto c = [&](int64_t row, int64_t column) { return dots.c + row * dots.ldc + column; };
  int64_t column = 0;
  // A single row has 4 columns at a time, too, not 8. Rows of b are often a multiple of 4 KiB apart, so all of them
  // need the same set of the first cache, which has 8 lines, and a needs one of these.
  for (; column + 4 <= dots.columns; column += 4) {
    int64_t row = 0;
    for (; row + 3 <= dots.rows; row += 3) rows_by_4<3>(dots, rest, a(row), b(column), c(row, column));
    if (row + 2 == dots.rows) rows_by_4<2>(dots, rest, a(row), b(column), c(row, column));
    if (row + 1 == dots.rows) rows_by_4<1>(dots, rest, a(row), b(column), c(row, column));
  }
  for (; column < dots.columns; ++column) {
    int64_t row = 0;
    for (; row + 8 <= dots.rows; row += 8) column_of_8(dots, rest, a(row), b(column), c(row, column));
    for (; row < dots.rows; ++row) one_dot(dots, rest, a(row), b(column), c(row, column));
  }
}

}  // namespace millrace::cpu

#endif
