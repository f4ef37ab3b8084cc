#include "millrace/layers/images/layout_change.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/layers/layer_run.h"

namespace millrace::testing {
namespace {

class LayoutChangeTest : public ::testing::Test {
 protected:
  // Two images of (2, 1, 3) go in, and their gradients come back, through rows that lie apart and without gaps.
  void check(bool to_images, const std::vector<double>& in, const std::vector<double>& out) {
    const TensorSpec batch{Shape{2, 2, 1, 3}, DType::f32};
    const auto as_image = Tensor::Rows::contiguous, as_row = Tensor::Rows::padded;
    Tensor from(Device::cpu(), batch, to_images ? as_row : as_image),
        to(Device::cpu(), batch, to_images ? as_image : as_row);
    Tensor back(Device::cpu(), batch, to_images ? as_row : as_image);
    const TensorView inputs[] = {from.view()};
    PlanArgs args;
    args.inputs = inputs;
    args.output = to.view();
    const auto plan = plan_layout_change(context_, args, to_images);

    write_values(from.view(), in);
    const ConstTensorView given[] = {from.view()};
    ForwardArgs forward;
    forward.inputs = given;
    forward.output = to.view();
    plan->forward(context_, forward);
    EXPECT_EQ(read_values(to.view()), out);

    const ConstTensorView none[] = {{}};
    Destination gradient[] = {{.view = back.view()}};
    BackwardArgs backward;
    backward.inputs = none;
    backward.output_gradient = to.view();
    backward.input_gradients = gradient;
    plan->backward(context_, backward);
    EXPECT_EQ(read_values(back.view()), in);

    const float half = 0.5F;
    gradient[0].beta = 1, gradient[0].alpha = &half;
    plan->backward(context_, backward);
    std::vector<double> more = in;
    for (double& value : more) value *= 1.5;
    EXPECT_EQ(read_values(back.view()), more);

    gradient[0].view = {};
    plan->backward(context_, backward);
  }

  Executor executor_{2};
  Context context_{Device::cpu(), executor_};
};

TEST_F(LayoutChangeTest, PutsTheChannelsOfAPixelTogether) {
  check(true, {1, 2, 3, 10, 20, 30, 4, 5, 6, 40, 50, 60}, {1, 10, 2, 20, 3, 30, 4, 40, 5, 50, 6, 60});
}

TEST_F(LayoutChangeTest, AndApartAgain) {
  check(false, {1, 10, 2, 20, 3, 30, 4, 40, 5, 50, 6, 60}, {1, 2, 3, 10, 20, 30, 4, 5, 6, 40, 50, 60});
}

}  // namespace
}  // namespace millrace::testing
