#include <gtest/gtest.h>

#include <cmath>

#include "tests/layers/layer_run.h"

namespace millrace::testing {
namespace {

struct Rows {
  TensorSpec prediction, label;  // of one row
  std::vector<double> predictions, labels;
  std::vector<double> weights = {};  // none: not weighted
};

std::unique_ptr<Metric> accuracy() {
  return LayerCatalog::builtin().metrics.make({"accuracy", Spec::map()}, Spec::map());
}

// The partial of one batch.
std::vector<std::byte> partial_of(const Rows& rows, int64_t batch, int threads = 2) {
  Executor executor(threads);
  Context context(Device::cpu(), executor);
  const auto padded = [&](const TensorSpec& row) {
    return Tensor(Device::cpu(), {row.shape.with_batch(batch), row.dtype}, Tensor::Rows::padded);
  };
  const bool weighted = !rows.weights.empty();
  Tensor prediction = padded(rows.prediction), label = padded(rows.label), weight = padded({Shape{1}, DType::f32});
  write_values(prediction.view(), rows.predictions);
  write_values(label.view(), rows.labels);
  if (weighted) write_values(weight.view(), rows.weights);
  const std::unique_ptr<Metric> metric = accuracy();
  metric->check(rows.prediction, rows.label);
  const std::unique_ptr<MetricPlan> plan =
      metric->plan(context, {.prediction = prediction.view(), .label = label.view(), .weighted = weighted});
  std::vector<std::byte> partial(plan->partial_bytes());
  const Memory scratch(Device::cpu(), plan->scratch_bytes());
  plan->run(context, {.prediction = prediction.view(),
                      .label = label.view(),
                      .weight = weighted ? ConstTensorView(weight.view()) : ConstTensorView(),
                      .partial = partial.data(),
                      .scratch = scratch.data()});
  return partial;
}

double accuracy_of(const Rows& rows, int64_t batch) {
  const std::unique_ptr<MetricAccumulator> accumulator = accuracy()->accumulator();
  accumulator->add(partial_of(rows, batch), batch);
  return accumulator->value();
}

const TensorSpec kLogit{Shape{1}, DType::f32};

TEST(Accuracy, ComparesTheSignOfOneLogitWithTheLabel) {
  EXPECT_EQ(accuracy_of({kLogit, {Shape{1}, DType::f32}, {1, -1, 0, 2, -3}, {1, 0, 0, 0, 1}}, 5), 0.6);
  EXPECT_EQ(accuracy_of({kLogit, {Shape{1}, DType::i32}, {1, -1, 1, -1}, {1, 0, 0, 1}}, 4), 0.5);
  EXPECT_EQ(accuracy_of({{Shape{1}, DType::f64}, {Shape{1}, DType::f32}, {1e-300, 1}, {1, 0.4}}, 2), 0.5);
}

TEST(Accuracy, ComparesTheLargestLogitWithTheClass) {
  const TensorSpec logits{Shape{3}, DType::f32};
  const std::vector<double> values = {0, 1, 2, 5, 1, 2, -3, -1, -2, 7, 7, 0};
  EXPECT_EQ(accuracy_of({logits, {Shape{1}, DType::i32}, values, {2, 0, 1, 0}}, 4), 1);
  EXPECT_EQ(accuracy_of({logits, {Shape{1}, DType::i64}, values, {2, 1, 0, 1}}, 4), 0.25);
}

TEST(Accuracy, NaNIsNeverRight) {
  const double nan = std::nan("");
  for (const DType dtype : {DType::f32, DType::f64}) {
    EXPECT_EQ(accuracy_of({{Shape{1}, dtype}, {Shape{1}, DType::f32}, {nan, nan, -1, 1}, {0, 1, 0, 1}}, 4), 0.5);
    // Wherever it stands, also beside the largest logit.
    const std::vector<double> logits = {nan, nan, nan, nan, 2, 1, 2, nan, 1, 2, 1, nan, 2, 1, 0};
    EXPECT_EQ(accuracy_of({{Shape{3}, dtype}, {Shape{1}, DType::i32}, logits, {0, 1, 0, 0, 0}}, 5), 0.2);
  }
}

TEST(Accuracy, AClassThatIsNotThereIsWrong) {
  const TensorSpec logits{Shape{2}, DType::f32};
  EXPECT_EQ(accuracy_of({logits, {Shape{1}, DType::i32}, {-1, -2, -1, -2, -1, -2}, {-1, 2, 0}}, 3), 1.0 / 3);
}

TEST(Accuracy, CountsRowsByTheirWeights) {
  const TensorSpec label{Shape{1}, DType::f32}, classes{Shape{1}, DType::i32};
  EXPECT_EQ(accuracy_of({kLogit, label, {1, 1, 1, -1}, {1, 0, 0, 0}, {3, 0.5, 0, 0.5}}, 4), 3.5 / 4);
  EXPECT_EQ(accuracy_of({{Shape{2}, DType::f32}, classes, {1, 0, 1, 0}, {0, 1}, {1, 3}}, 2), 0.25);
  // A row of weight 0 is as good as none, and no row has no accuracy.
  EXPECT_TRUE(std::isnan(accuracy_of({kLogit, label, {1, 1}, {1, 0}, {0, 0}}, 2)));

  const std::unique_ptr<MetricAccumulator> accumulator = accuracy()->accumulator();
  accumulator->add(partial_of({kLogit, label, {1, 1}, {1, 0}, {2, 4}}, 2), 2);
  accumulator->add(partial_of({kLogit, label, {1}, {1}, {2}}, 1), 1);
  EXPECT_EQ(accumulator->value(), 0.5);
}

TEST(Accuracy, IsNotPlannedForLabelsThatItCannotRead) {
  Executor executor(1);
  Context context(Device::cpu(), executor);
  const TensorView prediction(nullptr, DType::f64, Shape{4, 1}), label(nullptr, DType::f64, Shape{4, 1});
  try {
    accuracy()->plan(context, {.prediction = prediction, .label = label});
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_STREQ(error.what(), "accuracy reads float32, int32 or int64 labels, got float64 (4, 1)");
  }
}

TEST(Accuracy, JoinsBatchesOfDifferentSizesExactly) {
  const std::unique_ptr<MetricAccumulator> accumulator = accuracy()->accumulator();
  EXPECT_TRUE(std::isnan(accumulator->value()));
  const TensorSpec label{Shape{1}, DType::f32};
  accumulator->add(partial_of({kLogit, label, {1, 1, 1}, {1, 1, 0}}, 3), 3);
  accumulator->add(partial_of({kLogit, label, {1}, {0}}, 1), 1);
  accumulator->add(partial_of({kLogit, label, {1, 1, 1}, {1, 1, 1}}, 3), 3);
  EXPECT_EQ(accumulator->value(), 5.0 / 7.0);
  accumulator->reset();
  EXPECT_TRUE(std::isnan(accumulator->value()));
  accumulator->add(partial_of({kLogit, label, {1}, {1}}, 1), 1);
  EXPECT_EQ(accumulator->value(), 1);
}

TEST(Accuracy, CountsLargeBatchesOnAnyNumberOfThreads) {
  constexpr int64_t batch = 40001;
  const std::vector<double> logits = draws("logit", batch), labels = draws("label", batch);
  Rows rows{kLogit, {Shape{1}, DType::f32}, logits, {}};
  int64_t hits = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    rows.labels.push_back(labels[i] > 0 ? 1 : 0);
    hits += (logits[i] > 0) == (labels[i] > 0) ? 1 : 0;
  }
  for (const int threads : {1, 2, 3, 8}) {
    const std::unique_ptr<MetricAccumulator> accumulator = accuracy()->accumulator();
    accumulator->add(partial_of(rows, batch, threads), batch);
    EXPECT_EQ(accumulator->value(), static_cast<double>(hits) / batch) << threads;
  }
}

std::string error_of(const TensorSpec& prediction, const TensorSpec& label) {
  try {
    accuracy()->check(prediction, label);
  } catch (const ShapeError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Accuracy, RejectsWhatItCannotJudge) {
  const std::string hint = "; it takes one logit and one label a row, or several logits and one class index";
  EXPECT_EQ(error_of({Shape{3}, DType::f32}, {Shape{1}, DType::f32}),
            "accuracy does not fit the prediction float32 (3) and the label float32 (1)" + hint);
  EXPECT_EQ(error_of({Shape{3}, DType::f32}, {Shape{3}, DType::f32}),
            "accuracy does not fit the prediction float32 (3) and the label float32 (3)" + hint);
  EXPECT_EQ(error_of({Shape{1}, DType::f32}, {Shape{2}, DType::i32}),
            "accuracy does not fit the prediction float32 (1) and the label int32 (2)" + hint);
  EXPECT_EQ(error_of({Shape{1}, DType::i32}, {Shape{1}, DType::i32}), "expected float32 values, got int32 (1)");
  EXPECT_EQ(error_of({Shape{2, 2}, DType::f32}, {Shape{1}, DType::i32}), "expected a vector a row, got float32 (2, 2)");
}

}  // namespace
}  // namespace millrace::testing
