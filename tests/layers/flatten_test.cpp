#include <gtest/gtest.h>

#include "tests/layers/gradient_check.h"

namespace millrace::testing {
namespace {

TEST(Flatten, MakesARowAVector) {
  LayerRun run({.kind = "flatten", .inputs = {Shape{2, 3}}, .batch = 2, .dtype = DType::f32});
  EXPECT_EQ(run.output_spec(), (TensorSpec{Shape{2, 6}, DType::f32}));
  run.set_input(0, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  run.set_output_gradient({-1, -2, -3, -4, -5, -6, -7, -8, -9, -10, -11, -12});
  run.forward();
  run.backward();
  EXPECT_EQ(run.output(), (std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
  EXPECT_EQ(run.input_gradient(0), (std::vector<double>{-1, -2, -3, -4, -5, -6, -7, -8, -9, -10, -11, -12}));
}

TEST(Flatten, TakesAnyShape) {
  for (const auto& [row, length] : {std::pair{Shape{}, 1}, {Shape{5}, 5}, {Shape{2, 3, 1, 4, 2}, 48}}) {
    LayerRun run({.kind = "flatten", .inputs = {row}, .batch = 3});
    EXPECT_EQ(run.output_spec().shape, (Shape{3, length}));
  }
}

TEST(Flatten, AgreesWithDifferences) {
  check_layer({.kind = "flatten", .inputs = {Shape{7}}, .batch = 5});
  check_layer({.kind = "flatten", .inputs = {Shape{2, 3, 5}}, .batch = 3});
  check_float({.kind = "flatten", .inputs = {Shape{17, 43}}, .batch = 97});
}

TEST(Flatten, KeepsNothingForBackward) {
  LayerRun run({.kind = "flatten", .inputs = {Shape{1}}});
  EXPECT_FALSE(run.plan().backward_reads_inputs());
  EXPECT_FALSE(run.plan().backward_reads_output());
}

TEST(Flatten, HasNoOptions) {
  EXPECT_EQ(error_of({.kind = "flatten", .options = Spec::map().set("axis", 1), .inputs = {Shape{1}}}),
            "unknown key axis; there are no options here");
}

}  // namespace
}  // namespace millrace::testing
