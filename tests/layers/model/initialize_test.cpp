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

TEST(Initialize, FillsConstants) {
  EXPECT_EQ(values_of("a.bias", {}, {3}), filled(3, 0));
  EXPECT_EQ(values_of("a.scale", Initializer::constant(1.5), {2, 2}, DType::f64), filled(4, 1.5));
}

TEST(Initialize, SpreadsWeightsAsUsual) {
  EXPECT_EQ(glorot_uniform(3, 5), Initializer::uniform(std::sqrt(0.75)));
  EXPECT_EQ(he_normal(8), Initializer::normal(0.5));
}

TEST(Initialize, FollowsTheDocumentedFormula) {
  const std::vector<double> values = values_of("dense.weight", glorot_uniform(3, 5), {5, 3}, DType::f64, 99);
  for (size_t i = 0; i < values.size(); ++i) {
    const uint64_t bits = philox64(99, fnv1a64("dense.weight"), i);
    const double unit = (static_cast<double>(bits >> 12) + 0.5) / 4503599627370496.0;
    EXPECT_EQ(values[i], (2 * unit - 1) * std::sqrt(6.0 / 8.0)) << i;
  }
  const std::vector<double> rounded = values_of("dense.weight", glorot_uniform(3, 5), {5, 3}, DType::f32, 99);
  for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(rounded[i], static_cast<double>(static_cast<float>(values[i])));
}

// The same numbers as tests/golden/make_golden.py prints with --check.
TEST(Initialize, GivesKnownValues) {
  const std::vector<double> values = values_of("dense.weight", glorot_uniform(1024, 1024), {1024, 1024});
  EXPECT_EQ(static_cast<float>(values[0]), 0x1.14f768p-8F);
  EXPECT_EQ(static_cast<float>(values[1]), 0x1.b9112cp-5F);
  EXPECT_EQ(static_cast<float>(values[1048575]), -0x1.cedeb8p-8F);
}

TEST(Initialize, IsUniformWithinItsLimit) {
  const std::vector<double> values = values_of("w", glorot_uniform(100, 200), {200, 100}, DType::f64);
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

TEST(Initialize, DrawsNormalsAsDocumented) {
  const std::vector<double> values = values_of("conv.weight", Initializer::normal(0.25), {50, 40}, DType::f64, 99);
  double sum = 0, squares = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(values[i], 0.25 * normal_pair(philox(99, fnv1a64("conv.weight"), i))[0]) << i;
    sum += values[i];
    squares += values[i] * values[i];
  }
  EXPECT_NEAR(sum / 2000, 0, 0.25 * 0.1);
  EXPECT_NEAR(std::sqrt(squares / 2000), 0.25, 0.25 * 0.05);
  const std::vector<double> rounded = values_of("conv.weight", Initializer::normal(0.25), {50, 40}, DType::f32, 99);
  for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(rounded[i], static_cast<double>(static_cast<float>(values[i])));
}

TEST(Initialize, DependsOnNameAndSeed) {
  const Initializer initializer = glorot_uniform(4, 4);
  const std::vector<double> values = values_of("a.weight", initializer, {4, 4});
  EXPECT_EQ(values, values_of("a.weight", initializer, {4, 4}));
  EXPECT_NE(values, values_of("b.weight", initializer, {4, 4}));
  EXPECT_NE(values, values_of("a.weight", initializer, {4, 4}, DType::f32, 24));
}

TEST(Initialize, DependsNeitherOnThreadsNorOnTheCallersRounding) {
  const std::vector<double> values = values_of("w", glorot_uniform(300, 300), {300, 300});
  for (const int threads : {1, 3, 8}) {
    std::fesetround(FE_UPWARD);
    const std::vector<double> again = values_of("w", glorot_uniform(300, 300), {300, 300}, DType::f32, 23, threads);
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(again, values) << threads;
  }
}

}  // namespace
}  // namespace millrace::testing
