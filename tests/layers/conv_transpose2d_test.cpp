#include <gtest/gtest.h>

#include "tests/layers/gradient_check.h"

namespace millrace::testing {
namespace {

Spec filters(int count, int kernel) { return Spec::map().set("filters", count).set("kernel", kernel); }
LayerCase conv(Spec options, const Shape& image, int64_t batch = 3) {
  return {.kind = "conv_transpose2d", .options = std::move(options), .inputs = {image}, .batch = batch};
}

TEST(ConvTranspose2d, ByHand) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    LayerCase from = conv(filters(1, 2).set("stride", 2), Shape{1, 1, 2}, 1);
    from.dtype = dtype;
    LayerRun run(from);
    run.set_input(0, {1, 10});
    run.set_parameter(0, {1, 2, 3, 4});
    run.set_parameter(1, {0.5});
    run.set_output_gradient({1, 0, 0, 0, 0, 0, 0, 1});
    run.forward();
    run.backward();
    EXPECT_EQ(run.output(), (std::vector<double>{1.5, 2.5, 10.5, 20.5, 3.5, 4.5, 30.5, 40.5}));
    EXPECT_EQ(run.input_gradient(0), (std::vector<double>{1, 4}));
    EXPECT_EQ(run.parameter_gradient(0), (std::vector<double>{1, 0, 0, 10}));
    EXPECT_EQ(run.parameter_gradient(1), std::vector<double>{2});
  }
}

TEST(ConvTranspose2d, EachFilterHasItsBias) {
  LayerRun run(conv(filters(2, 1), Shape{1, 1, 3}, 2));
  run.set_input(0, {1, 2, 3, 4, 5, 6});
  run.set_parameter(0, {1, 10});
  run.set_parameter(1, {100, 200});
  run.forward();
  EXPECT_EQ(run.output(), (std::vector<double>{101, 102, 103, 210, 220, 230, 104, 105, 106, 240, 250, 260}));
}

TEST(ConvTranspose2d, WindowsThatOverlapAddUp) {
  LayerRun run(conv(filters(1, 3), Shape{1, 1, 3}, 1));
  run.set_input(0, {1, 10, 100});
  run.set_parameter(0, {0, 0, 0, 1, 2, 3, 0, 0, 0});
  run.forward();
  EXPECT_EQ(run.output(), (std::vector<double>{0, 0, 0, 0, 0, 1, 12, 123, 230, 300, 0, 0, 0, 0, 0}));
}

TEST(ConvTranspose2d, ItsGradientsAreRight) {
  check_layer(conv(filters(3, 3), Shape{2, 4, 3}));
  check_layer(conv(filters(4, 4).set("stride", 2).set("padding", "same").set("activation", "relu"), Shape{3, 3, 4}));
  check_layer(conv(filters(2, 3).set("padding", 1).set("activation", "gelu").set("bias", false), Shape{2, 4, 4}));
  check_layer(conv(filters(6, 2).set("groups", 2).set("dilation", 2).set("stride", 2), Shape{4, 3, 3}));
  check_layer(conv(filters(2, 1).set("stride", 3).set("padding", "same"), Shape{2, 3, 2}));
  check_threads(conv(filters(8, 4).set("stride", 2).set("padding", "same"), Shape{4, 6, 6}, 23));
}

TEST(ConvTranspose2d, KnowsItsShapes) {
  const auto output = [](Spec options, const Shape& image) {
    return LayerRun(conv(std::move(options), image, 2)).output_spec().shape;
  };
  EXPECT_EQ(output(filters(5, 3), Shape{2, 7, 4}), (Shape{2, 5, 9, 6}));
  EXPECT_EQ(output(filters(5, 4).set("stride", 2).set("padding", 1), Shape{2, 7, 4}), (Shape{2, 5, 14, 8}));
  EXPECT_EQ(output(filters(5, 5).set("stride", 3).set("padding", "same"), Shape{2, 7, 4}), (Shape{2, 5, 21, 12}));
}

TEST(ConvTranspose2d, RefusesWhatDoesNotFit) {
  EXPECT_EQ(error_of(conv(filters(1, 2).set("padding", 2), Shape{1, 2, 2})),
            "the padding leaves nothing of the output; pad by less");
  EXPECT_EQ(error_of(conv(filters(4, 1).set("groups", 2), Shape{3, 4, 4})),
            "2 groups cannot share 3 channels and 4 filters equally; use groups: 1, or other filters");
}

}  // namespace
}  // namespace millrace::testing
