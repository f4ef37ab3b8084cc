#include <gtest/gtest.h>

#include <cmath>

#include "tests/layers/gradient_check.h"

namespace millrace::testing {
namespace {

TEST(Add, AddsItsInputs) {
  LayerRun run({.kind = "add", .inputs = {Shape{2}, Shape{2}, Shape{2}}, .batch = 2, .dtype = DType::f32});
  run.set_input(0, {1, 2, 3, 4});
  run.set_input(1, {10, 20, 30, 40});
  run.set_input(2, {100, 200, 300, 400});
  run.forward();
  EXPECT_EQ(run.output(), (std::vector<double>{111, 222, 333, 444}));
}

TEST(Add, GivesEachInputTheWholeGradient) {
  LayerRun run({.kind = "add", .inputs = {Shape{2}, Shape{2}}, .batch = 1});
  run.set_input(0, {1, 2});
  run.set_input(1, {3, 4});
  run.set_output_gradient({5, -6});
  run.forward();
  run.backward();
  EXPECT_EQ(run.input_gradient(0), (std::vector<double>{5, -6}));
  EXPECT_EQ(run.input_gradient(1), (std::vector<double>{5, -6}));
}

TEST(Add, AgreesWithDifferences) {
  check_layer({.kind = "add", .inputs = {Shape{5}, Shape{5}}});
  check_layer({.kind = "add", .inputs = {Shape{2, 3}, Shape{2, 3}, Shape{2, 3}, Shape{2, 3}}, .batch = 2});
}

TEST(Add, KeepsNothingForBackward) {
  LayerRun run({.kind = "add", .inputs = {Shape{5}, Shape{5}}});
  EXPECT_FALSE(run.plan().backward_reads_inputs());
  EXPECT_FALSE(run.plan().backward_reads_output());
}

TEST(Add, RejectsInputsOfDifferentShapes) {
  try {
    LayerRun run({.kind = "add", .inputs = {Shape{5}, Shape{5}, Shape{4, 1}}, .dtype = DType::f32});
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_STREQ(error.what(), "expected inputs of one shape, got float32 (5) and float32 (4, 1)");
  }
}

TEST(Add, TakesTwoOrMoreInputs) {
  const std::unique_ptr<Layer> layer = LayerCatalog::builtin().layers.make({"add", Spec::map()}, Spec::map());
  EXPECT_EQ(layer->min_inputs(), 2);
  EXPECT_LT(layer->max_inputs(), 0);
}

}  // namespace
}  // namespace millrace::testing
