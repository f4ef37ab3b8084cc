// More of what the tests of each level check. MILLRACE_NUMBERS says how many values of each type.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/input/csv/kernels/kernel_check.h"

namespace millrace {
namespace {

class EveryKernel : public ::testing::TestWithParam<ProcessorLevel> {};

TEST_P(EveryKernel, ReadsNumbersAsTheCLibrary) {
  const CsvKernels* kernels = csv_kernels(GetParam());
  if (kernels == nullptr) GTEST_SKIP() << "this processor has no " << to_string(GetParam());
  const char* wanted = std::getenv("MILLRACE_NUMBERS");
  testing_support::check_numbers(*kernels, 2, wanted == nullptr ? 3000000 : std::strtoull(wanted, nullptr, 10));
}

INSTANTIATE_TEST_SUITE_P(Levels, EveryKernel,
                         ::testing::Values(ProcessorLevel::scalar, ProcessorLevel::avx2, ProcessorLevel::avx512),
                         [](const auto& level) { return std::string(to_string(level.param)); });

}  // namespace
}  // namespace millrace
