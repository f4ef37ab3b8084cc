// Checks a product against plain sums in double, for every file of tests/core/kernels.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "millrace/core/kernels/gemm.h"
#include "millrace/core/random.h"
#include "millrace/core/text.h"

namespace millrace::testing {

inline std::string text_of(const GemmSpec& s) {
  return cat("m ", s.m, " n ", s.n, " k ", s.k, ' ', to_string(s.dtype), s.transpose_a ? " aT" : "",
             s.transpose_b ? " bT" : "", " ld ", s.lda, ' ', s.ldb, ' ', s.ldc, " beta ", s.beta, s.bias ? " bias" : "",
             s.activation == FusedActivation::relu ? " relu" : "");
}

// A product's operands; what lies between rows is NaN in a and b, and a mark that must survive in c.
template <class T>
struct GemmData {
  static constexpr T kMark = T(12345);
  GemmSpec spec;  // with every leading dimension
  std::vector<T> a, b, c, bias;
  float alpha = 1;
  bool give_alpha = false;

  GemmData(const GemmSpec& wanted, int64_t padding, uint64_t seed) : spec(wanted) {
    const int64_t a_rows = spec.transpose_a ? spec.k : spec.m, a_columns = spec.transpose_a ? spec.m : spec.k;
    const int64_t b_rows = spec.transpose_b ? spec.n : spec.k, b_columns = spec.transpose_b ? spec.k : spec.n;
    spec.lda = a_columns + padding;
    spec.ldb = b_columns + 2 * padding;
    spec.ldc = spec.n + 3 * padding;
    a = filled(a_rows, a_columns, spec.lda, std::numeric_limits<T>::quiet_NaN(), seed, 1);
    b = filled(b_rows, b_columns, spec.ldb, std::numeric_limits<T>::quiet_NaN(), seed, 2);
    c = filled(spec.m, spec.n, spec.ldc, kMark, seed, 3);
    if (spec.bias) bias = filled(1, spec.n, spec.n, T(0), seed, 4);
    if (spec.beta == 0) {
      // Must not be read, so NaN must not spread.
      for (T& value : c) value = value == kMark ? kMark : std::numeric_limits<T>::quiet_NaN();
    }
  }

  GemmArgs args(std::vector<T>& result) const {
    return {a.data(), b.data(), result.data(), spec.bias ? bias.data() : nullptr, give_alpha ? &alpha : nullptr};
  }
  std::vector<T> run(Gemm& gemm, Context& context) const {
    std::vector<T> result = c;
    gemm.run(context, args(result));
    return result;
  }

  // Every element within the rounding of a sum of k terms.
  ::testing::AssertionResult holds(const std::vector<T>& result) const {
    for (int64_t i = 0; i < spec.m; ++i) {
      for (int64_t j = 0; j < spec.ldc; ++j) {
        const auto at = static_cast<size_t>(i * spec.ldc + j);
        if (j >= spec.n) {
          if (result[at] != kMark) return failure(i, j, result[at], kMark);
          continue;
        }
        double magnitude = 0;
        const double expected = element(i, j, magnitude);
        const double bound =
            (4 + std::sqrt(static_cast<double>(spec.k))) * std::numeric_limits<T>::epsilon() * magnitude;
        if (!(std::abs(static_cast<double>(result[at]) - expected) <= bound))
          return failure(i, j, result[at], expected);
      }
    }
    return ::testing::AssertionSuccess();
  }

 private:
  static std::vector<T> filled(int64_t rows, int64_t columns, int64_t stride, T between, uint64_t seed,
                               uint64_t stream) {
    std::vector<T> out(static_cast<size_t>(rows * stride), between);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        const double unit = to_unit(philox64(seed, stream, static_cast<uint64_t>(i * columns + j)));
        out[static_cast<size_t>(i * stride + j)] = static_cast<T>(2 * unit - 1);
      }
    }
    return out;
  }

  double element(int64_t i, int64_t j, double& magnitude) const {
    double sum = 0;
    for (int64_t l = 0; l < spec.k; ++l) {
      const double x =
          static_cast<double>(a[static_cast<size_t>(spec.transpose_a ? l * spec.lda + i : i * spec.lda + l)]);
      const double y =
          static_cast<double>(b[static_cast<size_t>(spec.transpose_b ? j * spec.ldb + l : l * spec.ldb + j)]);
      sum += x * y;
      magnitude += std::abs(x * y);
    }
    const double factor = give_alpha ? static_cast<double>(alpha) : 1;
    double value = factor * sum;
    magnitude *= std::abs(factor);
    const auto add = [&](double more) {
      value += more;
      magnitude += std::abs(more);
    };
    if (spec.beta != 0)
      add(static_cast<double>(spec.beta) * static_cast<double>(c[static_cast<size_t>(i * spec.ldc + j)]));
    if (spec.bias) add(static_cast<double>(bias[static_cast<size_t>(j)]));
    if (spec.activation == FusedActivation::relu && value < 0) value = 0;
    return value;
  }

  ::testing::AssertionResult failure(int64_t i, int64_t j, T got, double expected) const {
    return ::testing::AssertionFailure() << text_of(spec) << ": c(" << i << ", " << j << ") is " << got << ", expected "
                                         << expected;
  }
};

using GemmMaker = std::unique_ptr<Gemm> (*)(Context&, const GemmSpec&);

// The product of these sizes in every layout, with and without padding, beta, alpha, bias and relu, in turn.
template <class T>
void check_all_forms(GemmMaker make, int64_t m, int64_t n, int64_t k, Context& context) {
  uint64_t form = 0;
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      for (const float beta : {0.0f, 1.0f}) {
        // The rest is drawn anew for each layout.
        const uint64_t choice = philox64(5, form, static_cast<uint64_t>(m * 1000003 + n * 1009 + k));
        GemmSpec spec{.m = m, .n = n, .k = k, .dtype = DTypeOf<T>::value};
        spec.transpose_a = transpose_a;
        spec.transpose_b = transpose_b;
        spec.beta = beta;
        spec.bias = (choice & 1) != 0;
        spec.activation = (choice & 2) != 0 ? FusedActivation::relu : FusedActivation::none;
        GemmData<T> data(spec, (choice & 4) != 0 ? 5 : 0, form);
        data.give_alpha = (choice & 8) != 0;
        data.alpha = -0.25f;
        const std::unique_ptr<Gemm> gemm = make(context, data.spec);
        ASSERT_TRUE(data.holds(data.run(*gemm, context)));
        ++form;
      }
    }
  }
}

// Products whose sizes lie around the edges of tiles: every pair of sizes meets, the third is drawn.
inline void check_around_tile_edges(GemmMaker make, Context& context) {
  constexpr int64_t kEdges[] = {1, 2, 3, 15, 16, 17, 63, 64, 65, 127, 128, 129, 255, 256, 257};
  const auto draw = [&](uint64_t stream, int64_t i, int64_t j) {
    return kEdges[scale_to(philox64(9, stream, static_cast<uint64_t>(i * 1000 + j)), std::size(kEdges))];
  };
  for (const int64_t i : kEdges) {
    for (const int64_t j : kEdges) {
      check_all_forms<float>(make, i, j, draw(0, i, j), context);
      if (::testing::Test::HasFatalFailure()) return;
    }
    for (const int64_t j : {1, 17, 64, 257}) {
      check_all_forms<float>(make, draw(1, i, j), j, i, context);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

// The same bits on any number of threads, and when run again.
template <class T>
void check_threads(GemmMaker make, const GemmSpec& spec) {
  GemmData<T> data(spec, 0, 17);
  data.give_alpha = true;
  data.alpha = 0.5f;
  std::vector<T> first;
  for (const int threads : {1, 2, 3, 8}) {
    Executor executor(threads);
    Context context(Device::cpu(), executor);
    const std::unique_ptr<Gemm> gemm = make(context, data.spec);
    for (int round = 0; round < 3; ++round) {
      const std::vector<T> result = data.run(*gemm, context);
      if (first.empty()) first = result;
      ASSERT_EQ(std::memcmp(first.data(), result.data(), first.size() * sizeof(T)), 0)
          << text_of(spec) << " on " << threads << " threads";
    }
  }
}

}  // namespace millrace::testing
