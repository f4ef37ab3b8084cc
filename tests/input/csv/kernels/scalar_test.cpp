#include <gtest/gtest.h>

#include "tests/input/csv/kernels/kernel_check.h"

namespace millrace {
namespace {

TEST(ScalarKernels, ReadNumbersAsTheCLibrary) {
  const CsvKernels* kernels = csv_kernels(ProcessorLevel::scalar);
  if (kernels == nullptr) GTEST_SKIP() << "this processor has no scalar";
  testing_support::check_numbers(*kernels, 1, 100000);
}

}  // namespace
}  // namespace millrace
