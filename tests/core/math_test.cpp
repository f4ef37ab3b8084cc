#include "millrace/core/math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "millrace/core/random.h"

namespace millrace {
namespace {

template <class T>
constexpr T kInfinity = std::numeric_limits<T>::infinity();

// The distance of `got` from the true value, in units of the last place that T has there.
template <class T>
double ulps(T got, long double exact) {
  const T rounded = static_cast<T>(exact);
  if (got == rounded) return 0;
  if (!std::isfinite(got) || !std::isfinite(rounded)) return kInfinity<double>;
  int exponent = 0;
  std::frexp(exact, &exponent);
  exponent = std::max(exponent, std::numeric_limits<T>::min_exponent);
  const long double unit = std::ldexp(1.0L, exponent - std::numeric_limits<T>::digits);
  return static_cast<double>(std::abs(static_cast<long double>(got) - exact) / unit);
}

// `count` numbers of [low, high], evenly spaced, and as many on a logarithmic scale down to denormals.
template <class T>
std::vector<T> samples(double low, double high, int count) {
  std::vector<T> out;
  for (int i = 0; i <= count; ++i) out.push_back(static_cast<T>(low + (high - low) * i / count));
  for (uint64_t i = 0; i < static_cast<uint64_t>(count); ++i) {
    const PhiloxBlock draw = philox(1, 2, i);
    const int exponent = static_cast<int>(scale_to(static_cast<uint64_t>(draw.word[2]) << 32, 2200)) - 1150;
    const T value = static_cast<T>(std::ldexp(1 + to_unit(philox64(1, 3, i)), exponent));
    for (const T x : {value, -value}) {
      if (x >= static_cast<T>(low) && x <= static_cast<T>(high)) out.push_back(x);
    }
  }
  return out;
}

template <class T>
void check(T (*function)(T), long double (*exact)(long double), double low, double high) {
  double worst = 0;
  T where = 0;
  for (const T x : samples<T>(low, high, 400000)) {
    const double distance = ulps(function(x), exact(x));
    if (distance > worst) {
      worst = distance;
      where = x;
    }
  }
  EXPECT_LE(worst, 2.0) << "at " << where;
}

TEST(Math, ExpIsWithinTwoUlps) {
  check<float>(math::exp, std::exp, -104, 89);
  check<double>(math::exp, std::exp, -746, 710);
  check<double>(math::exp, std::exp, -1, 1);
}

TEST(Math, LogIsWithinTwoUlps) {
  check<float>(math::log, std::log, 0, 3.4e38);
  check<float>(math::log, std::log, 0.4, 2.5);
  check<double>(math::log, std::log, 0, 1.7e308);
  check<double>(math::log, std::log, 0.4, 2.5);
  check<double>(math::log, std::log, 0.999, 1.001);
}

TEST(Math, Log1pIsWithinTwoUlps) {
  check<float>(math::log1p, std::log1p, -0.9999999, 3);
  check<float>(math::log1p, std::log1p, -1e-3, 1e-3);
  check<float>(math::log1p, std::log1p, 0, 3.4e38);
  check<double>(math::log1p, std::log1p, -0.9999999999, 3);
  check<double>(math::log1p, std::log1p, -1e-6, 1e-6);
  check<double>(math::log1p, std::log1p, 0, 1.7e308);
}

TEST(Math, TanhIsWithinTwoUlps) {
  check<float>(math::tanh, std::tanh, -11, 11);
  check<float>(math::tanh, std::tanh, -0.5, 0.5);
  check<double>(math::tanh, std::tanh, -23, 23);
  check<double>(math::tanh, std::tanh, -0.5, 0.5);
}

TEST(Math, ErfIsWithinTwoUlps) {
  check<float>(math::erf, std::erf, -5, 5);
  check<float>(math::erf, std::erf, -1.2, 1.2);
  check<double>(math::erf, std::erf, -7, 7);
  check<double>(math::erf, std::erf, -1.2, 1.2);
}

template <class T>
void check_special_values() {
  const T inf = kInfinity<T>, nan = std::numeric_limits<T>::quiet_NaN(), big = std::numeric_limits<T>::max();
  EXPECT_EQ(math::exp(T(0)), T(1));
  EXPECT_EQ(math::exp(T(-0.0)), T(1));
  EXPECT_EQ(math::exp(inf), inf);
  EXPECT_EQ(math::exp(-inf), T(0));
  EXPECT_EQ(math::exp(big), inf);
  EXPECT_EQ(math::exp(-big), T(0));

  EXPECT_EQ(math::log(T(1)), T(0));
  EXPECT_EQ(math::log(T(0)), -inf);
  EXPECT_EQ(math::log(T(-0.0)), -inf);
  EXPECT_EQ(math::log(inf), inf);
  EXPECT_TRUE(std::isnan(math::log(T(-1))));
  EXPECT_TRUE(std::isnan(math::log(-inf)));
  EXPECT_EQ(math::log(std::numeric_limits<T>::denorm_min()),
            static_cast<T>(std::log(static_cast<long double>(std::numeric_limits<T>::denorm_min()))));

  EXPECT_EQ(math::log1p(T(-1)), -inf);
  EXPECT_EQ(math::log1p(inf), inf);
  EXPECT_TRUE(std::isnan(math::log1p(T(-2))));
  EXPECT_TRUE(std::isnan(math::log1p(-inf)));

  EXPECT_EQ(math::tanh(inf), T(1));
  EXPECT_EQ(math::tanh(-inf), T(-1));
  EXPECT_EQ(math::tanh(T(30)), T(1));
  EXPECT_EQ(math::erf(inf), T(1));
  EXPECT_EQ(math::erf(-inf), T(-1));
  EXPECT_EQ(math::erf(-big), T(-1));

  for (T (*function)(T) : {math::exp<T>, math::log<T>, math::log1p<T>, math::tanh<T>, math::erf<T>}) {
    EXPECT_TRUE(std::isnan(function(nan)));
    EXPECT_TRUE(std::isnan(function(-nan)));
  }
  for (T (*function)(T) : {math::log1p<T>, math::tanh<T>, math::erf<T>}) {
    EXPECT_EQ(function(T(0)), T(0));
    EXPECT_FALSE(std::signbit(function(T(0))));
    EXPECT_TRUE(std::signbit(function(T(-0.0))));
  }
}

TEST(Math, TreatsSpecialValues) {
  check_special_values<float>();
  check_special_values<double>();
}

TEST(Math, TanhAndErfAreOdd) {
  for (const float x : samples<float>(0, 5, 2000)) {
    EXPECT_EQ(math::tanh(-x), -math::tanh(x));
    EXPECT_EQ(math::erf(-x), -math::erf(x));
  }
}

TEST(SineCosine, OfTurns) {
  constexpr int kCount = 100000;
  for (int i = 0; i <= kCount; ++i) {
    const double turns = static_cast<double>(i) / kCount;
    const long double angle = 2 * 3.14159265358979323846264338328L * static_cast<long double>(turns);
    const math::SineCosine got = math::sine_cosine(turns);
    ASSERT_NEAR(got.sine, static_cast<double>(std::sin(angle)), 4e-16) << turns;
    ASSERT_NEAR(got.cosine, static_cast<double>(std::cos(angle)), 4e-16) << turns;
  }
}

TEST(SineCosine, IsExactAtQuarters) {
  const double sines[] = {0, 1, 0, -1, 0}, cosines[] = {1, 0, -1, 0, 1};
  for (size_t quarter = 0; quarter <= 4; ++quarter) {
    const math::SineCosine got = math::sine_cosine(static_cast<double>(quarter) / 4);
    EXPECT_EQ(got.sine, sines[quarter]) << quarter;
    EXPECT_EQ(got.cosine, cosines[quarter]) << quarter;
  }
}

TEST(Power, OfWholeNumbers) {
  EXPECT_EQ(math::power(0.9, 0), 1);
  EXPECT_EQ(math::power(0, 0), 1);
  EXPECT_EQ(math::power(0.9, 1), 0.9);
  EXPECT_EQ(math::power(3, 13), 1594323);
  EXPECT_EQ(math::power(-2, 63), -0x1p63);
  EXPECT_EQ(math::power(0.5, 100), 0x1p-100);
  EXPECT_EQ(math::power(0.9, 1000000), 0);
  EXPECT_EQ(math::power(1, UINT64_MAX), 1);
  EXPECT_NEAR(math::power(0.999, 1000), std::pow(0.999, 1000), 1e-14);
}

}  // namespace
}  // namespace millrace
