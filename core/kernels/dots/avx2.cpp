#if defined(__x86_64__)

#include "millrace/core/kernels/dots/avx2.h"

#include "millrace/core/kernels/dots/dots.h"

namespace millrace::cpu {

namespace {

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
  // A row alone has 4 columns at a time, too: rows of b are often a multiple of 4 KiB apart, and then 8 of them and a
  // would need more lines of a set of the first cache than it has.
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
