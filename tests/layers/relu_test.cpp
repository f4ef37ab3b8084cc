#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/layers/gradient_check.h"

namespace millrace::testing {
namespace {

TEST(Relu, CutsBelowZero) {
  LayerRun run({.kind = "relu", .inputs = {Shape{3}}, .batch = 2, .dtype = DType::f32});
  run.set_input(0, {-1, 0, 2, 3, -0.5, 1e-30});
  run.forward();
  EXPECT_EQ(run.output(), (std::vector<double>{0, 0, 2, 3, 0, static_cast<double>(1e-30F)}));
}

TEST(Relu, PassesTheGradientWhereTheOutputIsPositive) {
  LayerRun run({.kind = "relu", .inputs = {Shape{3}}, .batch = 1});
  run.set_input(0, {-1, 0, 2});
  run.set_output_gradient({5, 6, 7});
  run.forward();
  run.backward();
  EXPECT_EQ(run.input_gradient(0), (std::vector<double>{0, 0, 7}));
}

TEST(Relu, KeepsNaN) {
  LayerRun run({.kind = "relu", .inputs = {Shape{1}}, .batch = 1, .dtype = DType::f32});
  run.set_input(0, {std::numeric_limits<double>::quiet_NaN()});
  run.forward();
  EXPECT_TRUE(std::isnan(run.output()[0]));
}

TEST(Relu, AgreesWithDifferencesInAnyShape) {
  check_layer({.kind = "relu", .inputs = {Shape{7}}, .batch = 5});
  check_layer({.kind = "relu", .inputs = {Shape{2, 3, 4}}, .batch = 3});
}

TEST(Relu, KeepsOnlyItsOutputForBackward) {
  LayerRun run({.kind = "relu", .inputs = {Shape{1}}});
  EXPECT_FALSE(run.plan().backward_reads_inputs());
  EXPECT_TRUE(run.plan().backward_reads_output());
}

TEST(Relu, HasNoOptions) {
  const Spec options = Spec::map().set("alpha", 1);
  try {
    LayerCatalog::builtin().layers.make({"relu", options}, options);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.message(), "unknown key alpha");
    EXPECT_EQ(error.hint(), "there are no options here");
  }
}

}  // namespace
}  // namespace millrace::testing
