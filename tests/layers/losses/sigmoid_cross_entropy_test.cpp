#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>

#include "tests/layers/losses/loss_run.h"

namespace millrace::testing {
namespace {

constexpr char kKind[] = "sigmoid_cross_entropy";

std::unique_ptr<Loss> make_loss() { return LayerCatalog::builtin().losses.make({kKind, Spec::map()}, Spec::map()); }

// Labels that are half zeros and ones, half probabilities.
std::vector<double> labels(int64_t count) {
  std::vector<double> out = draws("label", count, 0, 1);
  for (size_t i = 0; i < out.size(); i += 2) out[i] = out[i] > 0.5 ? 1 : 0;
  return out;
}

void prepare(LossRun& run, const LossCase& from) {
  const int64_t count = from.batch * from.row.elements();
  run.set_prediction(draws("prediction", count, -4, 4));
  run.set_label(labels(count));
  run.set_weight(draws("weight", from.batch, 0.1, 3));
}

TEST(SigmoidCrossEntropy, IsTheMeanOverRows) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    LossRun run({.kind = kKind, .row = Shape{1}, .batch = 3, .dtype = dtype});
    run.set_prediction({0, 2, -1});
    run.set_label({1, 1, 0});
    const double tolerance = dtype == DType::f32 ? 1e-7 : 1e-15;
    EXPECT_NEAR(run.run(), (std::log(2.0) + std::log1p(std::exp(-2.0)) + std::log1p(std::exp(-1.0))) / 3, tolerance);
    EXPECT_EQ(run.weight(), 3);
    const std::vector<double> expected = {-0.5 / 3, (1 / (1 + std::exp(-2.0)) - 1) / 3, 1 / (1 + std::exp(1.0)) / 3};
    for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(run.gradient()[i], expected[i], tolerance) << i;
  }
}

TEST(SigmoidCrossEntropy, IsTheMeanOverColumnsToo) {
  LossRun run({.kind = kKind, .row = Shape{2}, .batch = 2});
  run.set_prediction({0, 0, 0, 0});
  run.set_label({0, 1, 1, 0.5});
  EXPECT_NEAR(run.run(), std::log(2.0), 1e-15);
  EXPECT_EQ(run.gradient(), (std::vector<double>{0.125, -0.125, -0.125, 0}));
}

TEST(SigmoidCrossEntropy, WeighsRows) {
  LossRun run({.kind = kKind, .row = Shape{2}, .batch = 2, .weighted = true});
  run.set_prediction({0, 0, 3, 3});
  run.set_label({0, 1, 1, 1});
  run.set_weight({3, 1});
  EXPECT_NEAR(run.run(), (3 * std::log(2.0) + std::log1p(std::exp(-3.0))) / 4, 1e-15);
  EXPECT_EQ(run.weight(), 4);
  EXPECT_NEAR(run.gradient()[0], 0.5 * 3 / 4 / 2, 1e-15);
  EXPECT_NEAR(run.gradient()[2], (1 / (1 + std::exp(-3.0)) - 1) / 4 / 2, 1e-15);
}

TEST(SigmoidCrossEntropy, JoinsBatchesByTheirWeight) {
  for (const bool weighted : {false, true}) {
    const LossCase whole{.kind = kKind, .row = Shape{2}, .batch = 10, .weighted = weighted};
    LossRun all(whole);
    prepare(all, whole);
    const std::vector<double> predictions = draws("prediction", 20, -4, 4), targets = labels(20),
                              weights = draws("weight", 10, 0.1, 3);
    const double expected = all.run();
    double sum = 0, weight = 0;
    for (const auto& [begin, end] : {std::pair{0, 7}, {7, 8}, {8, 10}}) {
      LossCase part = whole;
      part.batch = end - begin;
      LossRun run(part);
      run.set_prediction({predictions.begin() + 2 * begin, predictions.begin() + 2 * end});
      run.set_label({targets.begin() + 2 * begin, targets.begin() + 2 * end});
      run.set_weight({weights.begin() + begin, weights.begin() + end});
      const double mean = run.run();
      sum += mean * run.weight();
      weight += run.weight();
    }
    EXPECT_NEAR(weight, all.weight(), 1e-14);
    EXPECT_NEAR(sum / weight, expected, 1e-14);
  }
}

TEST(SigmoidCrossEntropy, ARowOfWeightZeroDoesNotCount) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    LossRun run({.kind = kKind, .row = Shape{1}, .batch = 3, .dtype = dtype, .weighted = true});
    run.set_prediction({0, std::nan(""), std::numeric_limits<double>::infinity()});
    run.set_label({1, 1, 0});
    run.set_weight({0.5, 0, 0});
    EXPECT_NEAR(run.run(), std::log(2.0), 1e-7);
    EXPECT_EQ(run.weight(), 0.5);
    EXPECT_EQ(run.gradient(), (std::vector<double>{-0.5, 0, 0}));
  }
}

TEST(SigmoidCrossEntropy, EqualWeightsChangeNothing) {
  const LossCase plain{.kind = kKind, .row = Shape{3}, .batch = 5};
  LossCase weighted = plain;
  weighted.weighted = true;
  LossRun a(plain), b(weighted);
  prepare(a, plain);
  prepare(b, weighted);
  b.set_weight(filled(5, 0.7));
  EXPECT_NEAR(a.run(), b.run(), 1e-15);
  expect_close(b.gradient(), a.gradient(), 1e-15, "gradient");
}

TEST(SigmoidCrossEntropy, WeightsThatAddToNothingTeachNothing) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    LossRun run({.kind = kKind, .row = Shape{1}, .batch = 2, .dtype = dtype, .weighted = true});
    run.set_prediction({1, std::nan("")});
    run.set_label({0, 1});
    run.set_weight({0, 0});
    EXPECT_EQ(run.run(), 0);
    EXPECT_EQ(run.weight(), 0);
    EXPECT_EQ(run.gradient(), (std::vector<double>{0, 0}));
  }
}

TEST(SigmoidCrossEntropy, StaysFiniteForLargeLogits) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    LossRun run({.kind = kKind, .row = Shape{1}, .batch = 4, .dtype = dtype});
    run.set_prediction({1000, -1000, 1000, -1000});
    run.set_label({1, 0, 0, 1});
    EXPECT_EQ(run.run(), 500);
    EXPECT_EQ(run.gradient(), (std::vector<double>{0, 0, 0.25, -0.25}));
  }
}

TEST(SigmoidCrossEntropy, ShowsNaN) {
  LossRun run({.kind = kKind, .row = Shape{1}, .batch = 2, .dtype = DType::f32});
  run.set_prediction({std::nan(""), 1});
  run.set_label({0, 1});
  EXPECT_TRUE(std::isnan(run.run()));
  EXPECT_TRUE(std::isnan(run.gradient()[0]));
}

TEST(SigmoidCrossEntropy, AgreesWithDifferences) {
  for (const bool weighted : {false, true}) {
    for (const Shape& row : {Shape{1}, Shape{5}, Shape{2, 3}}) {
      const LossCase from{.kind = kKind, .row = row, .batch = 7, .weighted = weighted};
      LossRun run(from);
      prepare(run, from);
      run.run();
      const int kinks = compare_with_differences(
          "prediction", run.prediction(), run.gradient(),
          [&](const std::vector<double>& values) { run.set_prediction(values); }, [&] { return run.run(); });
      EXPECT_EQ(kinks, 0);
    }
  }
}

TEST(SigmoidCrossEntropy, AgreesInFloat) {
  for (const bool weighted : {false, true}) {
    LossCase from{.kind = kKind, .row = Shape{3}, .batch = 1500, .weighted = weighted};
    LossRun exact(from);
    prepare(exact, from);
    from.dtype = DType::f32;
    LossRun run(from);
    prepare(run, from);
    EXPECT_NEAR(run.run(), exact.run(), 1e-6);
    expect_close(run.gradient(), exact.gradient(), 1e-6, "gradient");
  }
}

TEST(SigmoidCrossEntropy, GivesTheLossAloneWhenAsked) {
  LossRun run({.kind = kKind, .row = Shape{1}, .batch = 1});
  run.set_prediction({0});
  run.set_label({0});
  EXPECT_NEAR(run.run(false), std::log(2.0), 1e-15);
  EXPECT_TRUE(std::isnan(run.gradient()[0]));
}

TEST(SigmoidCrossEntropy, GivesTheSameBitsOnAnyNumberOfThreads) {
  double loss = 0;
  std::vector<double> gradient;
  for (const int threads : {1, 2, 3, 8}) {
    const LossCase from{.kind = kKind, .row = Shape{7}, .batch = 6000, .dtype = DType::f32, .weighted = true};
    LossRun run(from, threads);
    prepare(run, from);
    const double now = run.run();
    if (threads == 1) loss = now, gradient = run.gradient();
    EXPECT_EQ(now, loss) << threads;
    EXPECT_EQ(run.gradient(), gradient) << threads;
  }
}

TEST(SigmoidCrossEntropy, ReadsLabelsBetweenZeroAndOne) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const LabelSpec label = make_loss()->label({Shape{3}, dtype});
    EXPECT_EQ(label.dtype, DType::f32);
    ASSERT_TRUE(label.range);
    EXPECT_EQ(label.range->min, 0);
    EXPECT_EQ(label.range->max, 1);
  }
}

TEST(SigmoidCrossEntropy, IsNotPlannedForLabelsOfAnotherDtype) {
  Executor executor(1);
  Context context(Device::cpu(), executor);
  const TensorView prediction(nullptr, DType::f64, Shape{4, 1}), label(nullptr, DType::f64, Shape{4, 1});
  try {
    make_loss()->plan(context, {.prediction = prediction, .label = label});
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_STREQ(error.what(), "sigmoid_cross_entropy reads float32 labels, got float64 (4, 1)");
  }
}

TEST(SigmoidCrossEntropy, RejectsALabelOfAnotherShape) {
  try {
    make_loss()->check({Shape{10}, DType::f32}, {Shape{1}, DType::f32});
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_STREQ(error.what(),
                 "sigmoid_cross_entropy: the prediction is (10) a row, the label (1); "
                 "the last layer needs one unit for each value of the label");
  }
}

}  // namespace
}  // namespace millrace::testing
