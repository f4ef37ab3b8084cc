#include "millrace/input/csv/kernels/kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>

#include "millrace/input/csv/kernels/powers_of_ten.h"

namespace millrace {
namespace {

TEST(CsvKernels, EveryProcessorHasSome) {
  EXPECT_NE(csv_kernels(ProcessorLevel::scalar), nullptr);
  EXPECT_EQ(to_string(ProcessorLevel::avx2), "avx2");
}

TEST(CsvKernels, TheBestAreTaken) {
  const CsvKernels* best = nullptr;
  for (const ProcessorLevel level : {ProcessorLevel::scalar, ProcessorLevel::avx2, ProcessorLevel::avx512}) {
    if (const CsvKernels* kernels = csv_kernels(level)) best = kernels;
  }
  EXPECT_EQ(&csv_kernels(), best);
  use_csv_kernels(*csv_kernels(ProcessorLevel::scalar));
  EXPECT_EQ(&csv_kernels(), csv_kernels(ProcessorLevel::scalar));
  use_csv_kernels(*best);
}

TEST(PowersOfTen, AreExact) {
  for (size_t n = 0; n < kPowersOfTen; ++n) {
    const double nearest = std::strtod(("1e" + std::to_string(n)).c_str(), nullptr);
    EXPECT_TRUE(kTens.high[n] == nearest || std::nextafter(kTens.high[n], INFINITY) == nearest) << n;
    EXPECT_LT(kTens.low[n], std::nextafter(kTens.high[n], INFINITY) - kTens.high[n]) << n;
    EXPECT_TRUE(kTens.low[n] == 0 || n > 22) << n;
    // Both parts are multiples of 2^n, and of the rest modulo a prime nothing is left.
    constexpr uint64_t kPrime = 1000000007;
    const auto rest = [](double value) { return static_cast<uint64_t>(std::fmod(value, double{kPrime})); };
    uint64_t power = 1;
    for (size_t i = 0; i < n; ++i) power = power * 10 % kPrime;
    EXPECT_EQ((rest(kTens.high[n]) + rest(kTens.low[n])) % kPrime, power) << n;
  }
}

}  // namespace
}  // namespace millrace
