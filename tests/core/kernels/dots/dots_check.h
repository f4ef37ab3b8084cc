// Checks functions of core/kernels/dots/dots.h, bit by bit, against the order that the header names.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "millrace/core/kernels/dots/dots.h"
#include "millrace/core/random.h"
#include "millrace/core/text.h"

namespace millrace::testing {

using MultiplyAndAdd = float (*)(float x, float y, float sum);
inline float rounded_once(float x, float y, float sum) { return std::fma(x, y, sum); }

inline float expected_dot(const float* x, const float* y, int64_t k, MultiplyAndAdd add) {
  std::array<float, cpu::kLanes> lanes{};
  for (int64_t begin = 0; begin < k; begin += cpu::kLanes) {
    for (int64_t l = 0; l < cpu::kLanes; ++l) {
      float& lane = lanes[static_cast<size_t>(l)];
      const bool filled_up = begin + l >= k;
      lane = filled_up ? add(0, 0, lane) : add(x[begin + l], y[begin + l], lane);
    }
  }
  const auto [l0, l1, l2, l3, l4, l5, l6, l7] = lanes;
  return ((l0 + l4) + (l2 + l6)) + ((l1 + l5) + (l3 + l7));
}

// Rows with NaN between them, which must not be read.
struct DotsData {
  static constexpr float kMark = 12345;

  DotsData(int64_t rows, int64_t columns, int64_t k, int64_t padding)
      : dots{.rows = rows, .columns = columns, .k = k, .lda = k + padding, .ldb = k + 2 * padding} {
    dots.ldc = columns + 3 * padding;
    a = filled(rows, dots.lda, 1);
    b = filled(columns, dots.ldb, 2);
    c.assign(static_cast<size_t>(rows * dots.ldc), kMark);
    dots.a = a.data(), dots.b = b.data(), dots.c = c.data();
  }

  std::vector<float> filled(int64_t rows, int64_t stride, uint64_t stream) const {
    std::vector<float> out(static_cast<size_t>(rows * stride), std::numeric_limits<float>::quiet_NaN());
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t k = 0; k < dots.k; ++k) {
        const uint64_t draw = philox64(7, stream, static_cast<uint64_t>(row * dots.k + k));
        // Some are so small that products underflow.
        const double size = draw % 16 == 0 ? 1e-30 : 1;
        out[static_cast<size_t>(row * stride + k)] = static_cast<float>((2 * to_unit(draw) - 1) * size);
      }
    }
    return out;
  }

  cpu::Dots dots;
  std::vector<float> a, b, c;
};

inline void expect_dots(cpu::DotsFunction* function, int64_t rows, int64_t columns, int64_t k, int64_t padding,
                        MultiplyAndAdd add) {
  DotsData data(rows, columns, k, padding);
  std::vector<float> expected = data.c;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      expected[static_cast<size_t>(i * data.dots.ldc + j)] =
          expected_dot(data.dots.a + i * data.dots.lda, data.dots.b + j * data.dots.ldb, k, add);
    }
  }
  function(data.dots);
  ASSERT_EQ(std::memcmp(data.c.data(), expected.data(), expected.size() * sizeof(float)), 0)
      << rows << " rows, " << columns << " columns, k " << k << ", padding " << padding;
}

// Around the edges of registers and tiles.
inline void expect_dots_around_edges(cpu::DotsFunction* function, MultiplyAndAdd add = rounded_once) {
  constexpr int64_t kCounts[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 17};
  for (const int64_t rows : kCounts) {
    for (const int64_t columns : kCounts) {
      for (const int64_t k : {1, 3, 7, 8, 9, 15, 16, 28, 100}) {
        expect_dots(function, rows, columns, k, (rows + columns + k) % 3, add);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }
  expect_dots(function, 48, 64, 1024, 0, add);
}

}  // namespace millrace::testing
