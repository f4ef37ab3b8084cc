#include <gtest/gtest.h>

#include "tests/layers/gradient_check.h"

namespace millrace::testing {
namespace {

TEST(Softsign, ByHand) {
  LayerRun run({.kind = "softsign", .inputs = {Shape{3}}, .batch = 1});
  run.set_input(0, {-1, 0, 3});
  run.forward();
  EXPECT_EQ(run.output(), (std::vector<double>{-0.5, 0, 0.75}));
}

TEST(Softsign, AgreesWithDifferences) { check_layer({.kind = "softsign", .inputs = {Shape{2, 7}}, .batch = 5}); }

}  // namespace
}  // namespace millrace::testing
