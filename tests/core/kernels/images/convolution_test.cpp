#include "millrace/core/kernels/images/convolution.h"

#include <gtest/gtest.h>

#include "tests/core/kernels/images/convolution_check.h"

namespace millrace::testing {
namespace {

TEST(ConvolutionSpec, KnowsTheSizesOfItsOutput) {
  const ConvolutionSpec::Axis axis{.in = 10, .kernel = 3, .stride = 2, .dilation = 3, .before = 1, .after = 2};
  EXPECT_EQ(axis.reach(), 7);
  EXPECT_EQ(axis.out(), 4);
  const ConvolutionSpec spec = square(4, 6, 8, 10, 3);
  EXPECT_EQ(spec.output().shape, (Shape{4, 10, 6, 6}));
  EXPECT_EQ(spec.weight().shape, (Shape{10, 6, 3, 3}));
  EXPECT_EQ(spec.products(), 10 * 6 * 6 * 6 * 3 * 3);
}

}  // namespace
}  // namespace millrace::testing
