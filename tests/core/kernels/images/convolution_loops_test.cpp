#include <gtest/gtest.h>

#include "tests/core/kernels/images/convolution_check.h"

namespace millrace::testing {
namespace {

TEST(LoopConvolution, AgreesWithTheDefinition) {
  for (const ConvolutionSpec& spec : odd_convolutions()) {
    if (spec.batch <= 5) expect_like_reference<double>(spec, 1e-13);
  }
}

TEST(LoopConvolution, ByHand) {
  // 1 2 3      1 0
  // 4 5 6  *   0 2
  // 7 8 9
  Reference reference(square(1, 1, 3, 1, 2));
  reference.x = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  reference.weight = {1, 0, 0, 2};
  reference.bias = {-13};
  reference.dy = {1, 0, 0, 10};
  ConvolutionRun<double> run(reference);
  EXPECT_EQ(run.forward(), (Values{11 - 13, 14 - 13, 20 - 13, 23 - 13}));
  EXPECT_EQ(run.forward(true, FusedActivation::relu), (Values{0, 1, 7, 10}));
  EXPECT_EQ(run.forward(false), (Values{11, 14, 20, 23}));
  EXPECT_EQ(run.input_gradient(), (Values{1, 0, 0, 0, 2 + 10, 0, 0, 0, 20}));
  const auto gradient = run.weight_gradient();
  EXPECT_EQ(gradient.weight, (Values{1 + 50, 2 + 60, 4 + 80, 5 + 90}));
  EXPECT_EQ(gradient.bias, Values{11});
}

}  // namespace
}  // namespace millrace::testing
