#include <gtest/gtest.h>

#include "tests/layers/gradient_check.h"

namespace millrace::testing {
namespace {

LayerCase pool(const Shape& image, int64_t batch = 3) {
  return {.kind = "global_avg_pool", .inputs = {image}, .batch = batch};
}

TEST(GlobalAvgPool, TakesTheMeanOfEachChannel) {
  LayerRun run(pool(Shape{2, 2, 3}, 2));
  run.set_input(0, {1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60, -1, -2, -3, -4, -5, -6, 0, 0, 0, 0, 0, 6});
  run.forward();
  EXPECT_EQ(run.output_spec().shape, (Shape{2, 2}));
  EXPECT_EQ(run.output(), (std::vector<double>{3.5, 35, -3.5, 1}));
}

TEST(GlobalAvgPool, ItsGradientsAreRight) {
  check_layer(pool(Shape{3, 4, 5}));
  check_layer(pool(Shape{1, 1, 1}));
  check_threads(pool(Shape{64, 8, 8}, 32));
}

TEST(GlobalAvgPool, WantsImages) {
  EXPECT_EQ(error_of(pool(Shape{4, 4})),
            "expected one image per row, (channels, height, width), got float64 (4, 4); an image "
            "has channels, one if it is grey: `reshape: [1, 4, 4]`");
}

}  // namespace
}  // namespace millrace::testing
