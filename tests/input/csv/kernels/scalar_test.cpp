#include <gtest/gtest.h>

#include "tests/input/csv/kernels/kernel_check.h"

namespace millrace {
namespace {

TEST(ScalarKernels, ReadNumbersAsTheCLibrary) {
  testing_support::check_numbers(*csv_kernels(ProcessorLevel::scalar), 1, 100000);
}

TEST(ScalarKernels, StopAtWhatIsNoNumber) { testing_support::check_stops(*csv_kernels(ProcessorLevel::scalar)); }

}  // namespace
}  // namespace millrace
