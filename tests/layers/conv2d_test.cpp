#include <gtest/gtest.h>

#include "tests/layers/gradient_check.h"

namespace millrace::testing {
namespace {

Spec filters(int count, int kernel) { return Spec::map().set("filters", count).set("kernel", kernel); }
LayerCase conv(Spec options, const Shape& image, int64_t batch = 3) {
  return {.kind = "conv2d", .options = std::move(options), .inputs = {image}, .batch = batch};
}

TEST(Conv2d, ByHand) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    LayerCase from = conv(filters(1, 2), Shape{1, 3, 3}, 1);
    from.dtype = dtype;
    LayerRun run(from);
    run.set_input(0, {1, 2, 3, 4, 5, 6, 7, 8, 9});
    run.set_parameter(0, {1, 0, 0, 2});
    run.set_parameter(1, {-13});
    run.set_output_gradient({1, 0, 0, 10});
    run.forward();
    run.backward();
    EXPECT_EQ(run.output(), (std::vector<double>{-2, 1, 7, 10}));
    EXPECT_EQ(run.input_gradient(0), (std::vector<double>{1, 0, 0, 0, 12, 0, 0, 0, 20}));
    EXPECT_EQ(run.parameter_gradient(0), (std::vector<double>{51, 62, 84, 95}));
    EXPECT_EQ(run.parameter_gradient(1), std::vector<double>{11});
  }
}

TEST(Conv2d, ItsGradientsAreRight) {
  check_layer(conv(filters(4, 3), Shape{3, 6, 5}));
  check_layer(conv(filters(5, 3).set("padding", "same").set("activation", "relu"), Shape{2, 5, 4}));
  check_layer(conv(filters(4, 3).set("padding", "same").set("stride", 2).set("activation", "gelu"), Shape{2, 6, 7}));
  check_layer(conv(filters(3, 2).set("padding", 1).set("activation", "tanh").set("bias", false), Shape{1, 4, 4}));
  check_layer(conv(filters(6, 3).set("groups", 3).set("dilation", 2), Shape{3, 7, 6}));
  check_layer(conv(filters(8, 3).set("groups", 4).set("padding", "same"), Shape{4, 4, 4}));
}

// So many products that the batch is shared out to tasks, each with a gradient of the weight of its own.
TEST(Conv2d, ItsLargeBatchesAreRight) {
  check_float(conv(filters(16, 5).set("padding", "same"), Shape{8, 20, 20}, 5));
  check_float(conv(filters(16, 3).set("stride", 2).set("activation", "relu"), Shape{16, 41, 40}, 7));
}

TEST(Conv2d, GivesTheSameBitsForEveryNumberOfThreads) {
  check_threads(conv(filters(8, 3).set("padding", "same").set("activation", "relu"), Shape{4, 12, 12}, 23));
}

TEST(Conv2d, KnowsItsShapes) {
  const auto output = [](Spec options, const Shape& image) {
    return LayerRun(conv(std::move(options), image, 2)).output_spec().shape;
  };
  EXPECT_EQ(output(filters(20, 5), Shape{1, 28, 28}), (Shape{2, 20, 24, 24}));
  EXPECT_EQ(output(filters(20, 5).set("padding", "same"), Shape{1, 28, 27}), (Shape{2, 20, 28, 27}));
  EXPECT_EQ(output(filters(20, 5).set("padding", "same").set("stride", 2), Shape{1, 28, 27}), (Shape{2, 20, 14, 14}));
  EXPECT_EQ(output(filters(2, 3).set("dilation", 2).set("padding", 1), Shape{1, 8, 9}), (Shape{2, 2, 6, 7}));
  Spec uneven = Spec::map().set("filters", 3);
  uneven.set("kernel", Spec::list().append(Spec::of(3)).append(Spec::of(1)))
      .set("stride", Spec::list().append(Spec::of(1)).append(Spec::of(4)));
  EXPECT_EQ(output(std::move(uneven), Shape{1, 8, 9}), (Shape{2, 3, 6, 3}));
}

TEST(Conv2d, HasAWeightForEachFilter) {
  const LayerRun run(conv(filters(6, 3).set("groups", 2), Shape{4, 5, 5}));
  EXPECT_EQ(run.parameter_name(0), "weight");
  EXPECT_EQ(run.parameter_name(1), "bias");
  // Each output reads 2 * 9 values, each input reaches 3 * 9.
  EXPECT_EQ(run.initializer(0), glorot_uniform(18, 27));
  EXPECT_EQ(run.initializer(1), Initializer::constant(0));
  EXPECT_EQ(LayerRun(conv(filters(6, 3).set("bias", false), Shape{4, 5, 5})).parameter_count(), 1u);
}

TEST(Conv2d, RefusesWhatDoesNotFit) {
  EXPECT_EQ(error_of(conv(filters(1, 2), Shape{9})),
            "expected one image per row, (channels, height, width), got float64 (9); put a reshape before it, such as "
            "`reshape: [1, 28, 28]`, or put it before the flatten");
  EXPECT_EQ(
      error_of(conv(filters(1, 2), Shape{3, 3})),
      "expected one image per row, (channels, height, width), got float64 (3, 3); an image has channels, one if it is "
      "grey: `reshape: [1, 3, 3]`");
  EXPECT_EQ(
      error_of(conv(filters(1, 2), Shape{8, 3, 3, 3})),
      "expected one image per row, (channels, height, width), got float64 (8, 3, 3, 3); the shape is the shape of "
      "one row, without the batch");
  EXPECT_EQ(error_of(conv(filters(1, 5), Shape{1, 6, 4})),
            "the window is 5 pixels wide, the image 4; use a smaller window, or padding: same");
  EXPECT_EQ(error_of(conv(filters(1, 5).set("dilation", 2).set("padding", 1), Shape{1, 6, 9})),
            "the window is 9 pixels high (5 with dilation 2), the image 8 with its padding; use a smaller window, or "
            "padding: same");
  EXPECT_EQ(error_of(conv(filters(1, 5), Shape{28, 28, 3})),
            "the window is 5 pixels wide, the image 3; images are (channels, height, width), and this one is (28, 28, "
            "3)");
  EXPECT_EQ(error_of(conv(filters(4, 1).set("groups", 5), Shape{6, 4, 4})),
            "5 groups cannot share 6 channels and 4 filters equally; use a divisor of 2 as groups");
  EXPECT_EQ(error_of(conv(filters(4, 1).set("groups", 2), Shape{3, 4, 4})),
            "2 groups cannot share 3 channels and 4 filters equally; use groups: 1, or other filters");
}

}  // namespace
}  // namespace millrace::testing
