#include "millrace/core/kernels/images/convolution.h"

#include <gtest/gtest.h>

#include <string>

#include "millrace/core/errors.h"
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

std::string error_of(const ConvolutionSpec& spec) {
  Executor executor(1);
  Context context(Device::cpu(), executor);
  std::string out;
  try {
    make_convolution(context, spec, {.bias = true});
  } catch (const ShapeError& error) {
    out = error.message();
  }
  // Each of them checks.
  if (!out.empty()) {
    EXPECT_THROW(make_convolution(context, spec, {.pass = ConvolutionPass::input_gradient}), ShapeError);
    EXPECT_THROW(make_convolution(context, spec, {.pass = ConvolutionPass::weight_gradient, .bias = true}), ShapeError);
  }
  return out;
}

TEST(Convolution, RefusesWhatDoesNotFit) {
  EXPECT_EQ(error_of(square(1, 1, 3, 1, 3)), "");
  EXPECT_EQ(error_of(square(1, 1, 3, 1, 4)), "the kernel reaches over 4 pixels, but the height is 3");
  EXPECT_EQ(error_of(square(1, 1, 3, 1, 6, 1)),
            "the kernel reaches over 6 pixels, but the height is 5 with its padding");
  EXPECT_EQ(error_of(square(0, 1, 3, 1, 1)),
            "a convolution needs sizes of at least 1, got a batch of 0, 1 and 1 channels and 1 group");
  EXPECT_EQ(
      error_of(square(1, 1, 3, 1, 0)),
      "a convolution needs sizes of at least 1, got a height of 3, a kernel of 0, a stride of 1 and a dilation of 1");
  EXPECT_EQ(error_of(square(1, 1, 3, 1, 1, -1)), "a convolution cannot be padded by less than 0, got -1");
  ConvolutionSpec groups = square(1, 6, 3, 4, 1);
  groups.groups = 3;
  EXPECT_EQ(error_of(groups), "3 groups cannot share 6 and 4 channels equally");
  ConvolutionSpec whole = square(1, 1, 3, 1, 1);
  whole.dtype = DType::i32;
  EXPECT_EQ(error_of(whole), "a convolution needs float32 or float64, got int32");
  ConvolutionSpec far = square(1, 1, 3, 1, 2);
  far.width.dilation = int64_t{1} << 62;
  EXPECT_NE(error_of(far).find("the kernel reaches over"), std::string::npos);
}

}  // namespace
}  // namespace millrace::testing
