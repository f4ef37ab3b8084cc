#include "millrace/layers/model/initialize.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>

#include "millrace/core/random.h"
#include "tests/layers/layer_run.h"

namespace millrace::testing {
namespace {

std::vector<double> values_of(std::string_view name, const Initializer& initializer, const Shape& shape,
                              DType dtype = DType::f32, uint64_t seed = 23, int threads = 2) {
  Executor executor(threads);
  Context context(Device::cpu(), executor);
  Tensor values(Device::cpu(), {shape, dtype});
  write_values(values.view(), nans(shape.elements()));
  initialize(context, name, initializer, seed, values.view());
  context.synchronize();
  return read_values(values.view());
}

constexpr Initializer glorot(int64_t in, int64_t out) { return {Initializer::Kind::glorot_uniform, in, out}; }

TEST(Initialize, FillsConstants) {
  EXPECT_EQ(values_of("a.bias", {Initializer::Kind::zeros}, {3}), filled(3, 0));
  EXPECT_EQ(values_of("a.scale", {Initializer::Kind::ones}, {2, 2}, DType::f64), filled(4, 1));
}

TEST(Initialize, FollowsTheDocumentedFormula) {
  const std::vector<double> values = values_of("dense.weight", glorot(3, 5), {5, 3}, DType::f64, 99);
  for (size_t i = 0; i < values.size(); ++i) {
    const uint64_t bits = philox64(99, fnv1a64("dense.weight"), i);
    const double unit = (static_cast<double>(bits >> 12) + 0.5) / 4503599627370496.0;
    EXPECT_EQ(values[i], (2 * unit - 1) * std::sqrt(6.0 / 8.0)) << i;
  }
  const std::vector<double> rounded = values_of("dense.weight", glorot(3, 5), {5, 3}, DType::f32, 99);
  for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(rounded[i], static_cast<double>(static_cast<float>(values[i])));
}

// The same numbers as tests/golden/make_golden.py prints with --check.
TEST(Initialize, GivesKnownValues) {
  const std::vector<double> values = values_of("dense.weight", glorot(1024, 1024), {1024, 1024});
  EXPECT_EQ(static_cast<float>(values[0]), 0x1.14f768p-8F);
  EXPECT_EQ(static_cast<float>(values[1]), 0x1.b9112cp-5F);
  EXPECT_EQ(static_cast<float>(values[1048575]), -0x1.cedeb8p-8F);
}

TEST(Initialize, IsUniformWithinItsLimit) {
  const std::vector<double> values = values_of("w", glorot(100, 200), {200, 100}, DType::f64);
  const double limit = std::sqrt(6.0 / 300.0);
  double sum = 0, squares = 0, most = 0;
  for (const double value : values) {
    sum += value;
    squares += value * value;
    most = std::max(most, std::abs(value));
  }
  const double count = static_cast<double>(values.size());
  EXPECT_LT(most, limit);
  EXPECT_GT(most, 0.999 * limit);
  EXPECT_NEAR(sum / count, 0, limit * 0.02);
  EXPECT_NEAR(squares / count, limit * limit / 3, limit * limit * 0.01);
}

TEST(Initialize, DependsOnNameAndSeed) {
  const Initializer initializer = glorot(4, 4);
  const std::vector<double> values = values_of("a.weight", initializer, {4, 4});
  EXPECT_EQ(values, values_of("a.weight", initializer, {4, 4}));
  EXPECT_NE(values, values_of("b.weight", initializer, {4, 4}));
  EXPECT_NE(values, values_of("a.weight", initializer, {4, 4}, DType::f32, 24));
}

TEST(Initialize, DependsNeitherOnThreadsNorOnTheCallersRounding) {
  const std::vector<double> values = values_of("w", glorot(300, 300), {300, 300});
  for (const int threads : {1, 3, 8}) {
    std::fesetround(FE_UPWARD);
    const std::vector<double> again = values_of("w", glorot(300, 300), {300, 300}, DType::f32, 23, threads);
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(again, values) << threads;
  }
}

}  // namespace
}  // namespace millrace::testing
