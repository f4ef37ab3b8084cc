#include "millrace/trainer/step/scores.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <tuple>

#include "millrace/core/errors.h"
#include "millrace/layers/catalog.h"
#include "tests/trainer/step/counting_metric.h"

namespace millrace {
namespace {

// Predictions, labels and weights of one number a row, with mse and mae.
class ScoresTest : public ::testing::Test {
 protected:
  ScoresTest() {
    loss_ = catalog_.losses.make({"mse", Spec::map()}, Spec::map());
    metrics_.push_back({"mae", catalog_.metrics.make({"mae", Spec::map()}, Spec::map())});
  }

  template <class T>
  static TensorView view_of(std::vector<T>& values) {
    return TensorView(values.data(), sizeof(T) == sizeof(double) ? DType::f64 : DType::f32,
                      Shape{static_cast<int64_t>(values.size()), 1});
  }

  Scores make(DType dtype, bool weighted) {
    return Scores({.context = context_,
                   .loss = *loss_,
                   .metrics = &metrics_,
                   .prediction = {Shape{1}, dtype},
                   .label = {Shape{1}, DType::f32},
                   .weighted = weighted});
  }

  template <class T>
  void run(Scores& scores, std::vector<T> prediction, std::vector<float> label, std::vector<float> weight = {},
           TensorView gradient = {}) {
    // The batch must live as long as its plan.
    auto& kept = std::get<std::vector<T>>(predictions_) = std::move(prediction);
    label_ = std::move(label);
    weight_ = std::move(weight);
    const TensorView x = view_of(kept), y = view_of(label_);
    plan_ = scores.plan(x, y);
    batch_ = {.prediction = x,
              .label = y,
              .weight = weight_.empty() ? ConstTensorView() : ConstTensorView(view_of(weight_)),
              .gradient = gradient};
    scores.run(*plan_, batch_);
  }
  void add(Scores& scores) { scores.add(*plan_, batch_); }
  // As a training reads it, without joining it.
  double batch_loss(Scores& scores) { return scores.loss_of(fetched(scores)).mean; }
  bool loss_is_fine(Scores& scores) { return scores.loss_of(fetched(scores)).fine(); }
  Memory fetched(Scores& scores) {
    Memory copy = scores.make_copy(*plan_);
    scores.fetch(context_, *plan_, false, copy);
    context_.synchronize();
    return copy;
  }

  LayerCatalog catalog_ = LayerCatalog::builtin();
  Executor executor_{2};
  Context context_{Device::cpu(), executor_};
  std::unique_ptr<Loss> loss_;
  std::vector<NamedMetric> metrics_;
  // Of the last batch.
  std::tuple<std::vector<float>, std::vector<double>> predictions_;
  std::vector<float> label_, weight_;
  std::unique_ptr<ScorePlan> plan_;
  ScoredBatch batch_;
};

TEST_F(ScoresTest, JoinsBatchesByTheWeightsOfTheirRows) {
  Scores scores = make(DType::f32, true);
  EXPECT_TRUE(std::isnan(scores.loss()));
  EXPECT_TRUE(std::isnan(scores.metrics()[0].second));
  run<float>(scores, {1, 2, 3}, {0, 0, 0}, {1, 0.5F, 0});
  add(scores);
  EXPECT_DOUBLE_EQ(scores.loss(), (1 + 0.5 * 4) / 1.5);
  run<float>(scores, {4}, {0}, {2});
  EXPECT_EQ(batch_loss(scores), 16);
  EXPECT_DOUBLE_EQ(scores.loss(), (1 + 0.5 * 4) / 1.5) << "not joined yet";
  add(scores);
  EXPECT_DOUBLE_EQ(scores.loss(), (1 + 0.5 * 4 + 2 * 16) / 3.5);
  EXPECT_DOUBLE_EQ(scores.metrics()[0].second, (1 + 0.5 * 2 + 2 * 4) / 3.5);
}

// Neither of itself nor of the batches that it is joined to.
TEST_F(ScoresTest, ABatchWithoutARowThatCountsHasNoLossAndNoMetrics) {
  Scores scores = make(DType::f32, true);
  std::vector<float> gradient(2, NAN);
  run<float>(scores, {1e30F, NAN}, {0, 0}, {0, 0}, view_of(gradient));
  EXPECT_TRUE(std::isnan(batch_loss(scores)));
  EXPECT_TRUE(loss_is_fine(scores)) << "as nothing went wrong";
  EXPECT_EQ(gradient, (std::vector<float>{0, 0}));
  add(scores);
  EXPECT_TRUE(std::isnan(scores.loss()));
  EXPECT_TRUE(std::isnan(scores.metrics()[0].second));
  run<float>(scores, {3}, {0}, {1});
  EXPECT_EQ(batch_loss(scores), 9);
  EXPECT_TRUE(loss_is_fine(scores));
  add(scores);
  EXPECT_EQ(scores.loss(), 9);
  EXPECT_EQ(scores.metrics()[0].second, 3);
  run<float>(scores, {NAN}, {0}, {1});
  EXPECT_FALSE(loss_is_fine(scores));
}

TEST_F(ScoresTest, ResetBeginsAnew) {
  Scores scores = make(DType::f32, false);
  run<float>(scores, {5}, {0});
  add(scores);
  scores.reset();
  EXPECT_TRUE(std::isnan(scores.loss()));
  add(scores);
  EXPECT_EQ(scores.loss(), 25);
  EXPECT_EQ(scores.metrics()[0].second, 5);
}

TEST_F(ScoresTest, GoesOnFromASavedState) {
  Scores first = make(DType::f32, true), second = make(DType::f32, true);
  run<float>(first, {1, 2, 3}, {0, 0, 0}, {1, 0.3F, 0.1F});
  add(first);
  State state;
  first.save(state);
  second.restore(State::decode(state.encode()));
  for (Scores* scores : {&first, &second}) {
    run<float>(*scores, {0.7F, 5}, {0, 0}, {2, 0.1F});
    add(*scores);
  }
  EXPECT_EQ(second.loss(), first.loss());
  EXPECT_EQ(second.metrics(), first.metrics());
}

TEST_F(ScoresTest, NamesTheMetricThatASavedStateLacks) {
  State state;
  make(DType::f32, false).save(state);
  metrics_.push_back({"mse", catalog_.metrics.make({"mse", Spec::map()}, Spec::map())});
  try {
    make(DType::f32, false).restore(state);
    FAIL();
  } catch (const DataError& error) {
    EXPECT_EQ(error.message(), "the saved state has no part \"mse\"");
  }
}

TEST_F(ScoresTest, ComputesMetricsOfJoinedBatchesAlone) {
  int batches = 0;
  metrics_.push_back({"counting", std::make_unique<CountingMetric>(batches)});
  Scores scores = make(DType::f32, false);
  run<float>(scores, {1}, {0});
  run<float>(scores, {2}, {0});
  EXPECT_EQ(batch_loss(scores), 4);
  EXPECT_EQ(batches, 0);
  add(scores);
  EXPECT_EQ(batches, 1);
  EXPECT_EQ(scores.metrics()[0].second, 2);
  run<float>(scores, {7}, {0});
  add(scores);
  EXPECT_EQ(batches, 2);
}

TEST_F(ScoresTest, ReadsLossesOfDoublesAndWritesTheGradientWhereAsked) {
  Scores scores = make(DType::f64, false);
  std::vector<double> gradient(2);
  run<double>(scores, {1e-9, 3}, {0, 1}, {}, view_of(gradient));
  add(scores);
  EXPECT_DOUBLE_EQ(scores.loss(), (1e-18 + 4) / 2);
  EXPECT_DOUBLE_EQ(gradient[0], 1e-9);
  EXPECT_DOUBLE_EQ(gradient[1], 2);
}

TEST_F(ScoresTest, CountsWhatMetricsKeepOfTheRows) {
  metrics_.push_back({"auc", catalog_.metrics.make({"auc", Spec::map()}, Spec::map())});
  std::vector<float> values(100);
  const auto bytes = [&](int64_t batches) {
    Scores scores({.context = context_,
                   .loss = *loss_,
                   .metrics = &metrics_,
                   .prediction = {Shape{1}, DType::f32},
                   .label = {Shape{1}, DType::f32},
                   .batches = batches});
    scores.plan(view_of(values), view_of(values));
    return scores.bytes();
  };
  EXPECT_EQ(bytes(10) - bytes(1), 900U * 8);
  EXPECT_GT(bytes(0), size_t{8} << 20) << "any number of rows may come";
  EXPECT_EQ(bytes(INT64_MAX), bytes(0));
}

TEST_F(ScoresTest, NamesAMetricThatDoesNotFit) {
  metrics_.push_back({"auc", catalog_.metrics.make({"auc", Spec::map()}, Spec::map())});
  try {
    const Scores scores({.context = context_,
                         .loss = *loss_,
                         .metrics = &metrics_,
                         .prediction = {Shape{2}, DType::f32},
                         .label = {Shape{2}, DType::f32}});
    FAIL() << "expected a ShapeError";
  } catch (const ShapeError& error) {
    EXPECT_EQ(error.message(), "auc does not fit the prediction float32 (2) and the label float32 (2)");
  }
}

}  // namespace
}  // namespace millrace
