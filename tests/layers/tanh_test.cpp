#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/layers/gradient_check.h"

namespace millrace::testing {
namespace {

TEST(Tanh, ByHand) {
  LayerRun run({.kind = "tanh", .inputs = {Shape{3}}, .batch = 2});
  run.set_input(0, {0, 1, -1, 0.25, 100, -std::numeric_limits<double>::infinity()});
  run.forward();
  const std::vector<double> expected = {0, std::tanh(1), -std::tanh(1), std::tanh(0.25), 1, -1};
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(run.output()[i], expected[i], 1e-15) << i;
}

TEST(Tanh, AgreesWithDifferences) { check_layer({.kind = "tanh", .inputs = {Shape{2, 7}}, .batch = 5}); }

TEST(Tanh, KeepsOnlyItsOutputForBackward) {
  LayerRun run({.kind = "tanh", .inputs = {Shape{1}}});
  EXPECT_FALSE(run.plan().backward_reads_inputs());
  EXPECT_TRUE(run.plan().backward_reads_output());
}

}  // namespace
}  // namespace millrace::testing
