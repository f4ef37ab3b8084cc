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

// A batch's partial.
std::vector<std::byte> counts_of(const std::vector<double>& logits, const std::vector<double>& labels) {
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
  return partial;
}

double digits_of(const std::vector<double>& logits, const std::vector<double>& labels) {
  const auto accumulator = Digits().accumulator();
  accumulator->add(counts_of(logits, labels), static_cast<int64_t>(labels.size()));
  return accumulator->value();
}

TEST(ClassCounts, GivesTheMeanOfTheScoresOfClassesThatOccur) {
  // Class 0 is right once of one prediction and two labels, class 1 once of two predictions and one label.
  EXPECT_EQ(digits_of({1, 0, -1, 0, 1, -1, 0, 1, -1}, {0, 0, 1}), (112 + 121) / 2.0);
}

TEST(ClassCounts, HasOneClassWithOneLogit) { EXPECT_EQ(digits_of({1, -1, 1, -1}, {1, 1, 0, 0}), 122); }

TEST(ClassCounts, OfNothingIsNan) { EXPECT_TRUE(std::isnan(Digits().accumulator()->value())); }

TEST(ClassCounts, RefusesAChangedState) {
  const auto error = [](const std::vector<double>& counts) -> std::string {
    State state;
    state.set_reals("counts", counts);
    const auto accumulator = Digits().accumulator();
    try {
      accumulator->restore(state);
      accumulator->value();
      accumulator->add(counts_of({1, 0, 0, 1}, {0, 1}), 2);
    } catch (const DataError& refused) {
      return refused.what();
    }
    return "no error";
  };
  EXPECT_EQ(error({}), "no error");
  EXPECT_EQ(error({1, 1, 2, 0, 0, 0, 2}), "no error");
  EXPECT_EQ(error({1, 1, 2, 0}), "the saved state counts 1 classes, the model has 2");
  EXPECT_EQ(error({1, 1}), "the saved counts of classes are 2 numbers, expected 3 a class and 1");
}

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
