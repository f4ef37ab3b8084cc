#include <gtest/gtest.h>

#include "tests/input/csv/kernels/kernel_check.h"

namespace millrace {
namespace {

TEST(Avx2Kernels, ReadNumbersAsTheCLibrary) {
  const CsvKernels* kernels = csv_kernels(ProcessorLevel::avx2);
  if (kernels == nullptr) GTEST_SKIP() << "this processor has no avx2";
  testing_support::check_numbers(*kernels, 1, 100000);
}

TEST(Avx2Kernels, StopAtWhatIsNoNumber) {
  const CsvKernels* kernels = csv_kernels(ProcessorLevel::avx2);
  if (kernels == nullptr) GTEST_SKIP() << "this processor has no avx2";
  testing_support::check_stops(*kernels);
}

}  // namespace
}  // namespace millrace
