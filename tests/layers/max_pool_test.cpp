#include <gtest/gtest.h>

#include "tests/layers/gradient_check.h"

namespace millrace::testing {
namespace {

LayerCase pool(Spec options, const Shape& image, int64_t batch = 3) {
  return {.kind = "max_pool", .options = std::move(options), .inputs = {image}, .batch = batch};
}
Spec size(int value) { return Spec::map().set("size", value); }

TEST(MaxPool, TakesTheLargestOfEachWindow) {
  for (const Mode mode : {Mode::train, Mode::predict}) {
    LayerCase from = pool(size(2), Shape{2, 2, 4}, 1);
    from.mode = mode;
    LayerRun run(from);
    run.set_input(0, {1, 2, 3, 4, 5, 6, 7, 8, -1, -2, -3, -4, -5, -6, -7, -8});
    run.forward();
    EXPECT_EQ(run.output(), (std::vector<double>{6, 8, -1, -3}));
    EXPECT_EQ(run.plan().saved_bytes(), mode == Mode::train ? 4 * sizeof(int32_t) : 0);
  }
}

TEST(MaxPool, ItsGradientsAreRight) {
  check_layer(pool(size(2), Shape{3, 6, 4}));
  check_layer(pool(size(3).set("stride", 2).set("padding", "same"), Shape{2, 7, 6}));
  check_layer(pool(size(3).set("stride", 1).set("padding", 1), Shape{1, 4, 5}));
  check_threads(pool(size(2), Shape{20, 24, 24}, 16));
}

TEST(MaxPool, RefusesWhatDoesNotFit) {
  EXPECT_EQ(error_of(pool(size(5), Shape{1, 4, 8})),
            "the window is 5 pixels high, the image 4; use a smaller window, or padding: same");
  EXPECT_EQ(error_of(pool(size(2).set("padding", 2), Shape{1, 4, 4})),
            "a window would lie only in the padding; pad by less than the size of the windows");
  EXPECT_EQ(error_of(pool(size(2), Shape{4})),
            "expected one image per row, (channels, height, width), got float64 (4); put a reshape before it, such as "
            "`reshape: [1, 28, 28]`, or put it before the flatten");
}

}  // namespace
}  // namespace millrace::testing
