#if defined(__x86_64__)

#include "millrace/core/kernels/dots/avx2.h"
#include "millrace/core/kernels/dots/dots.h"

#define MILLRACE_FMA512 __attribute__((target("avx512f,avx512dq,avx512vl,avx2,fma")))
#define MILLRACE_FMA512_INLINE MILLRACE_FMA512 __attribute__((always_inline)) inline

namespace millrace::cpu {

namespace {

struct Floats16 {
  __m512 v;
};

constexpr size_t kPairs = 4;

// Some rows and 8 columns: [i][j] has the lanes of row i, in the lower half those of column 2 j, in the upper half
// those of column 2 j + 1.
template <size_t kRows>
using PairLanes = std::array<std::array<Floats16, kPairs>, kRows>;

template <size_t kRows, class Load>
MILLRACE_FMA512_INLINE void add_pair_products(const Dots& dots, const float* a, const float* b, const Load& load,
                                              PairLanes<kRows>& lanes) {
  std::array<Floats16, kRows> x;
  MILLRACE_UNROLL
  for (size_t i = 0; i < kRows; ++i) x[i].v = _mm512_broadcast_f32x8(load(a + static_cast<int64_t>(i) * dots.lda));
  MILLRACE_UNROLL
  for (size_t j = 0; j < kPairs; ++j) {
    const float* const from = b + static_cast<int64_t>(2 * j) * dots.ldb;
    const __m512 y = _mm512_insertf32x8(_mm512_castps256_ps512(load(from)), load(from + dots.ldb), 1);
    MILLRACE_UNROLL
    for (size_t i = 0; i < kRows; ++i) lanes[i][j].v = _mm512_fmadd_ps(x[i].v, y, lanes[i][j].v);
  }
}

// 8 columns of some rows.
template <size_t kRows>
MILLRACE_FMA512_INLINE void rows_by_8(const Dots& dots, const float* a, const float* b, float* c) {
  PairLanes<kRows> lanes;
  MILLRACE_UNROLL
  for (size_t i = 0; i < kRows; ++i) {
    MILLRACE_UNROLL
    for (size_t j = 0; j < kPairs; ++j) lanes[i][j].v = _mm512_setzero_ps();
  }
  int64_t k = 0;
  for (; k + kLanes <= dots.k; k += kLanes) add_pair_products<kRows>(dots, a + k, b + k, LoadAll(), lanes);
  if (k < dots.k) add_pair_products<kRows>(dots, a + k, b + k, LoadFirst(dots.k - k), lanes);
  MILLRACE_UNROLL
  for (size_t i = 0; i < kRows; ++i) {
    std::array<Floats8, 2 * kPairs> of_row;
    MILLRACE_UNROLL
    for (size_t j = 0; j < kPairs; ++j) {
      of_row[2 * j].v = _mm512_castps512_ps256(lanes[i][j].v);
      of_row[2 * j + 1].v = _mm512_extractf32x8_ps(lanes[i][j].v, 1);
    }
    _mm256_storeu_ps(c + static_cast<int64_t>(i) * dots.ldc, sums_of_8(of_row));
  }
}

}  // namespace

bool has_dots_avx512() {
  return has_dots_avx2() && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0;
}

MILLRACE_FMA512 void dots_avx512(const Dots& dots) {
  // A row alone waits for memory; wide registers would gain nothing.
  if (dots.rows == 1) return dots_avx2(dots);
  int64_t column = 0;
  for (; column + 8 <= dots.columns; column += 8) {
    const float* const b = dots.b + column * dots.ldb;
    const auto a = [&](int64_t row) { return dots.a + row * dots.lda; };
    const auto c = [&](int64_t row) { return dots.c + row * dots.ldc + column; };
    int64_t row = 0;
    for (; row + 6 <= dots.rows; row += 6) rows_by_8<6>(dots, a(row), b, c(row));
    for (; row + 2 <= dots.rows; row += 2) rows_by_8<2>(dots, a(row), b, c(row));
    if (row < dots.rows) rows_by_8<1>(dots, a(row), b, c(row));
  }
  Dots rest = dots;
  rest.columns -= column;
  rest.b += column * dots.ldb;
  rest.c += column;
  dots_avx2(rest);
}

}  // namespace millrace::cpu

#endif
