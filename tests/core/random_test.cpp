#include "millrace/core/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace millrace {
namespace {

void expect_words(const PhiloxBlock& block, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  EXPECT_EQ(block.word[0], a);
  EXPECT_EQ(block.word[1], b);
  EXPECT_EQ(block.word[2], c);
  EXPECT_EQ(block.word[3], d);
}

// The published vectors of philox4x32-10, counter and key as words from the first to the last.
TEST(Philox, GivesTheKnownAnswers) {
  expect_words(philox(0, 0, 0), 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8);
  const uint64_t ones = std::numeric_limits<uint64_t>::max();
  expect_words(philox(ones, ones, ones), 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd);
  expect_words(philox(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88), 0xd16cfe09, 0x94fdcceb, 0x5001e420,
               0x24126ea1);
}

TEST(Philox, The64BitsBeginWithTheFirstWord) { EXPECT_EQ(philox64(0, 0, 0), 0xe169c58d6627e8d5u); }

TEST(Fnv1a, GivesTheKnownAnswers) {
  static_assert(fnv1a64("") == 0xcbf29ce484222325u);
  EXPECT_EQ(fnv1a64("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(fnv1a64("foobar"), 0x85944171f73967e8u);
  EXPECT_EQ(fnv1a64("\xff"), 0xaf64724c8602eb6eu);
}

TEST(ScaleTo, MultipliesHigh) {
  EXPECT_EQ(scale_to(0, 10), 0u);
  EXPECT_EQ(scale_to(std::numeric_limits<uint64_t>::max(), 10), 9u);
  EXPECT_EQ(scale_to(uint64_t{1} << 63, 10), 5u);
  EXPECT_EQ(scale_to(std::numeric_limits<uint64_t>::max(), 1), 0u);
  EXPECT_EQ(scale_to((uint64_t{1} << 63) - 1, std::numeric_limits<uint64_t>::max()), (uint64_t{1} << 63) - 2);
}

TEST(ToUnit, NeverReachesItsBounds) {
  EXPECT_EQ(to_unit(0), 0x1p-53);
  EXPECT_EQ(to_unit(std::numeric_limits<uint64_t>::max()), 1 - 0x1p-53);
  EXPECT_EQ(to_unit(uint64_t{1} << 63), 0.5 + 0x1p-53);
}

// Computed once with 50 decimal digits from the published vectors.
TEST(NormalPair, GivesTheKnownAnswers) {
  const auto zero = normal_pair(philox(0, 0, 0));
  EXPECT_DOUBLE_EQ(zero[0], -0.39766753844418232136);
  EXPECT_DOUBLE_EQ(zero[1], -0.31039547880173823783);
  const auto pi = normal_pair(philox(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88));
  EXPECT_DOUBLE_EQ(pi[0], 0.65864476904732995105);
  EXPECT_DOUBLE_EQ(pi[1], 0.80545929514323570526);
}

TEST(NormalPair, AgreesWithTheFormulaAllAroundTheCircle) {
  const double two_pi = 6.283185307179586477;
  for (uint32_t i = 0; i < 4096; ++i) {
    const PhiloxBlock block{{i * 2654435761u, i, 0, i << 20}};
    const double u = to_unit(block.word[0] | static_cast<uint64_t>(block.word[1]) << 32);
    const double v = to_unit(static_cast<uint64_t>(block.word[3]) << 32);
    const double radius = std::sqrt(-2 * std::log(u));
    const auto pair = normal_pair(block);
    ASSERT_NEAR(pair[0], radius * std::cos(two_pi * v), 4e-15 * (radius + 1)) << i;
    ASSERT_NEAR(pair[1], radius * std::sin(two_pi * v), 4e-15 * (radius + 1)) << i;
  }
}

TEST(NormalPair, ExtremeDrawsAreFinite) {
  for (const uint32_t word : {0u, 0xffffffffu}) {
    const auto pair = normal_pair({{word, word, word, word}});
    EXPECT_TRUE(std::isfinite(pair[0]) && std::isfinite(pair[1]));
  }
}

TEST(NormalPair, HasTheMomentsOfANormal) {
  constexpr int kPairs = 200000;
  std::vector<double> values;
  for (uint64_t i = 0; i < kPairs; ++i) {
    const auto pair = normal_pair(philox(7, fnv1a64("moments"), i));
    values.insert(values.end(), pair.begin(), pair.end());
  }
  double sum[5] = {};
  double product = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    double power = 1;
    for (double& moment : sum) {
      moment += power;
      power *= values[i];
    }
    if (i % 2 == 0) product += values[i] * values[i + 1];
  }
  const double n = sum[0];
  // Five standard errors each.
  EXPECT_NEAR(sum[1] / n, 0, 5 / std::sqrt(n));
  EXPECT_NEAR(sum[2] / n, 1, 5 * std::sqrt(2 / n));
  EXPECT_NEAR(sum[3] / n, 0, 5 * std::sqrt(15 / n));
  EXPECT_NEAR(sum[4] / n, 3, 5 * std::sqrt(96 / n));
  EXPECT_NEAR(product / kPairs, 0, 5 / std::sqrt(kPairs));
}

TEST(NormalPair, FillsEveryQuantile) {
  constexpr int kPairs = 50000;
  const double bounds[] = {-1.2815515655446004, -0.5244005127080407, 0, 0.5244005127080407, 1.2815515655446004};
  const double shares[] = {0.1, 0.3, 0.5, 0.7, 0.9};
  int below[5] = {};
  for (uint64_t i = 0; i < kPairs; ++i) {
    for (const double value : normal_pair(philox(11, fnv1a64("quantiles"), i))) {
      for (int b = 0; b < 5; ++b) below[b] += value < bounds[b] ? 1 : 0;
    }
  }
  const double n = 2 * kPairs;
  for (int b = 0; b < 5; ++b) EXPECT_NEAR(below[b] / n, shares[b], 5 * std::sqrt(shares[b] * (1 - shares[b]) / n));
}

}  // namespace
}  // namespace millrace
