#include <gtest/gtest.h>

#include "tests/layers/gradient_check.h"

namespace millrace::testing {
namespace {

Spec shape(const std::vector<int64_t>& sizes) {
  Spec list = Spec::list();
  for (const int64_t size : sizes) list.append(Spec::of(size));
  return Spec::map().set("shape", list);
}

LayerCase reshape(const std::vector<int64_t>& sizes, const Shape& row, int64_t batch) {
  return {.kind = "reshape", .options = shape(sizes), .inputs = {row}, .batch = batch};
}

TEST(Reshape, KeepsTheOrderOfARow) {
  LayerRun run(reshape({2, 3}, {3, 2}, 2));
  EXPECT_EQ(run.output_spec(), (TensorSpec{Shape{2, 2, 3}, DType::f64}));
  run.set_input(0, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  run.set_output_gradient({-1, -2, -3, -4, -5, -6, -7, -8, -9, -10, -11, -12});
  run.forward();
  run.backward();
  EXPECT_EQ(run.output(), (std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
  EXPECT_EQ(run.input_gradient(0), (std::vector<double>{-1, -2, -3, -4, -5, -6, -7, -8, -9, -10, -11, -12}));
}

TEST(Reshape, ComputesTheSizeThatIsLeft) {
  EXPECT_EQ(LayerRun(reshape({-1}, {2, 3}, 5)).output_spec().shape, (Shape{5, 6}));
  EXPECT_EQ(LayerRun(reshape({2, -1, 3}, {24}, 5)).output_spec().shape, (Shape{5, 2, 4, 3}));
  EXPECT_EQ(LayerRun(reshape({6, -1}, {6}, 5)).output_spec().shape, (Shape{5, 6, 1}));
  EXPECT_EQ(LayerRun(reshape({1, 1, 1, 1, -1}, {}, 5)).output_spec().shape, (Shape{5, 1, 1, 1, 1, 1}));
}

TEST(Reshape, TakesOneSizeAsAVector) {
  const LayerCase from{.kind = "reshape", .options = Spec::map().set("shape", 6), .inputs = {Shape{2, 3}}, .batch = 1};
  EXPECT_EQ(LayerRun(from).output_spec().shape, (Shape{1, 6}));
}

TEST(Reshape, AgreesWithDifferences) {
  check_layer(reshape({7, 1}, {7}, 5));
  check_layer(reshape({5, -1}, {2, 3, 5}, 3));
  check_float(reshape({43, 17}, {17, 43}, 97));
}

TEST(Reshape, KeepsNothingForBackward) {
  LayerRun run(reshape({1}, {1}, 1));
  EXPECT_FALSE(run.plan().backward_reads_inputs());
  EXPECT_FALSE(run.plan().backward_reads_output());
}

TEST(Reshape, RejectsRowsOfOtherSizes) {
  EXPECT_EQ(error_of(reshape({2, 3}, {5}, 1)), "expected a row of 6 values for the shape (2, 3), got float64 (5)");
  EXPECT_EQ(error_of(reshape({1}, {2, 2}, 1)), "expected a row of 1 value for the shape (1), got float64 (2, 2)");
  EXPECT_EQ(error_of(reshape({2, -1}, {5}, 1)),
            "expected a row of a multiple of 2 values for the shape (2, -1), got float64 (5)");
  EXPECT_EQ(error_of(reshape({int64_t{1} << 40, int64_t{1} << 40}, {5}, 1)),
            "the shape (1099511627776, 1099511627776) has too many elements");
}

TEST(Reshape, RejectsWrongSizes) {
  EXPECT_EQ(error_of(reshape({2, 0}, {5}, 1)), "shape[1]: expected at least 1, or -1, got 0");
  EXPECT_EQ(error_of(reshape({-2}, {5}, 1)), "shape[0]: expected at least 1, or -1, got -2");
  EXPECT_EQ(error_of({.kind = "reshape", .options = Spec::map().set("shape", 0), .inputs = {Shape{5}}}),
            "shape: expected at least 1, or -1, got 0");
  EXPECT_EQ(error_of(reshape({-1, 2, -1}, {4}, 1)), "shape: expected -1 at most once, got it 2 times");
  EXPECT_EQ(error_of(reshape({}, {1}, 1)), "shape: expected 1 to 5 sizes, got 0");
  EXPECT_EQ(error_of(reshape({1, 1, 1, 1, 1, 1}, {1}, 1)), "shape: expected 1 to 5 sizes, got 6");
  EXPECT_EQ(error_of({.kind = "reshape", .inputs = {Shape{5}}}),
            "the key shape is required (integer or list); shape: sizes of a row's axes, without the batch; one may be "
            "-1, which takes what the others leave");
}

}  // namespace
}  // namespace millrace::testing
