#include "millrace/layers/metrics/shared/class_counts.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/layers/layer_run.h"

namespace millrace::testing {
namespace {

// Shows the three counts as digits.
class Digits final : public ClassCountsMetric {
 public:
  Digits()
      : ClassCountsMetric("digits",
                          [](const ClassCounts& c) { return 100 * c.right + 10 * c.predicted + c.labelled; }) {}
};

double digits_of(const std::vector<double>& logits, const std::vector<double>& labels) {
  const auto rows = static_cast<int64_t>(labels.size()), classes = static_cast<int64_t>(logits.size()) / rows;
  Tensor prediction(Device::cpu(), {Shape{rows, classes}, DType::f32}, Tensor::Rows::padded);
  Tensor label(Device::cpu(), {Shape{rows, 1}, DType::i32}, Tensor::Rows::padded);
  write_values(prediction.view(), logits);
  write_values(label.view(), labels);
  Executor executor(2);
  Context context(Device::cpu(), executor);
  const auto plan = Digits().plan(context, {.prediction = prediction.view(), .label = label.view()});
  std::vector<std::byte> partial(plan->partial_bytes());
  const Memory scratch(Device::cpu(), plan->scratch_bytes());
  plan->run(context, {.prediction = prediction.view(),
                      .label = label.view(),
                      .weight = {},
                      .partial = partial.data(),
                      .scratch = scratch.data()});
  const auto accumulator = Digits().accumulator();
  accumulator->add(partial, rows);
  return accumulator->value();
}

TEST(ClassCounts, GivesTheMeanOfTheScoresOfClassesThatOccur) {
  // Class 0 is right once of one prediction and two labels, class 1 once of two predictions and one label.
  EXPECT_EQ(digits_of({1, 0, -1, 0, 1, -1, 0, 1, -1}, {0, 0, 1}), (112 + 121) / 2.0);
}

TEST(ClassCounts, HasOneClassWithOneLogit) { EXPECT_EQ(digits_of({1, -1, 1, -1}, {1, 1, 0, 0}), 122); }

TEST(ClassCounts, OfNothingIsNan) { EXPECT_TRUE(std::isnan(Digits().accumulator()->value())); }

TEST(ClassCounts, NamesTheMetricWhereTheLabelDoesNotFit) {
  try {
    Digits().check({Shape{3}, DType::f32}, {Shape{2}, DType::i32});
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_TRUE(error.message().starts_with("digits does not fit the prediction ")) << error.message();
  }
}

}  // namespace
}  // namespace millrace::testing
