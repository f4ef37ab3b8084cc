#include <gtest/gtest.h>

#include <cmath>

#include "tests/layers/gradient_check.h"

namespace millrace::testing {
namespace {

TEST(Gelu, ByHand) {
  LayerRun run({.kind = "gelu", .inputs = {Shape{3}}, .batch = 2});
  run.set_input(0, {0, 1, -1, 0.25, 100, -100});
  run.forward();
  // The shares of a standard normal below 1 and 0.25.
  constexpr double at_1 = 0.84134474606854293, at_quarter = 0.59870632568292370;
  const std::vector<double> expected = {0, at_1, -(1 - at_1), 0.25 * at_quarter, 100, 0};
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(run.output()[i], expected[i], 1e-15) << i;
}

TEST(Gelu, AgreesWithDifferences) { check_layer({.kind = "gelu", .inputs = {Shape{2, 7}}, .batch = 5}); }

TEST(Gelu, KeepsOnlyItsInputForBackward) {
  LayerRun run({.kind = "gelu", .inputs = {Shape{1}}});
  EXPECT_TRUE(run.plan().backward_reads_inputs());
  EXPECT_FALSE(run.plan().backward_reads_output());
}

}  // namespace
}  // namespace millrace::testing
