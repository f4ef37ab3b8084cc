#include "millrace/trainer/predict/predict_plan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <span>

#include "millrace/core/errors.h"
#include "millrace/core/random.h"
#include "millrace/layers/catalog.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

constexpr int64_t kRows = 103;

// dense(1) on two features with sigmoid cross-entropy and accuracy; kRows rows with a label and a weight.
class PredictPlanTest : public ::testing::Test {
 protected:
  PredictPlanTest() : model_(make_model()) {
    loss_ = catalog_.losses.make({"sigmoid_cross_entropy", Spec::map()}, Spec::map());
    metrics_.push_back({"accuracy", catalog_.metrics.make({"accuracy", Spec::map()}, Spec::map())});
    all_.configure(rows_, kRows);
    all_.resize(kRows);
    for (int64_t row = 0; row < kRows; ++row) {
      const auto draw = [&](uint64_t i) {
        return static_cast<float>(4 * to_unit(philox64(1, 2, static_cast<uint64_t>(row) * 3 + i)) - 2);
      };
      all_.row<float>(0, row)[0] = draw(0);
      all_.row<float>(0, row)[1] = draw(1);
      *all_.row<float>(1, row) = row % 3 == 0 ? 1.0F : 0.0F;
      *all_.row<float>(2, row) = row % 5 == 0 ? 0.0F : static_cast<float>(row % 4) + 0.5F;
    }
  }

  Model make_model() {
    const Spec units = Spec::map().set("units", 1);
    std::vector<LayerNode> layers(1);
    layers[0].kind = "dense";
    layers[0].layer = catalog_.layers.make({"dense", units}, units);
    return Model::build({.layers = std::move(layers), .inputs = {{"features", {Shape{2}, DType::f32}}}, .seed = 4},
                        context_);
  }

  PredictPlanArgs args(const std::string& weight = {}) const {
    return {.model = model_,
            .context = context_,
            .rows = rows_,
            .loss = loss_.get(),
            .label = "label",
            .weight = weight,
            .metrics = &metrics_};
  }

  // Adds all rows, `size` of them at a time.
  void add_all(PredictPlan& plan, int64_t size) const {
    for (int64_t begin = 0; begin < kRows; begin += size) plan.run(rows_of(begin, std::min(size, kRows - begin)));
  }
  RowBlock rows_of(int64_t begin, int64_t count) const {
    RowBlock batch;
    batch.configure(rows_, count);
    batch.resize(count);
    for (int64_t i = 0; i < count; ++i) batch.copy_row(all_, begin + i, i);
    return batch;
  }

  double logit(int64_t row) const {
    const float *weight = model_.parameter(0).as<float>(), *x = all_.row<float>(0, row);
    return static_cast<double>(weight[0] * x[0] + weight[1] * x[1] + model_.parameter(1).as<float>()[0]);
  }

  LayerCatalog catalog_ = LayerCatalog::builtin();
  Executor executor_{2};
  mutable Context context_{Device::cpu(), executor_};
  RowSpec rows_{{{"features", DType::f32, {2}}, {"label", DType::f32, {1}}, {"weight", DType::f32, {1}}}};
  const Model model_;
  std::unique_ptr<Loss> loss_;
  std::vector<NamedMetric> metrics_;
  RowBlock all_;
};

TEST_F(PredictPlanTest, JoinsBatchesToTheMeanOverAllRows) {
  for (const bool weighted : {false, true}) {
    double sum = 0, right = 0, weights = 0;
    for (int64_t row = 0; row < kRows; ++row) {
      const double z = logit(row), y = *all_.row<float>(1, row);
      const double w = weighted ? static_cast<double>(*all_.row<float>(2, row)) : 1.0;
      sum += w * (std::max(z, 0.0) - z * y + std::log1p(std::exp(-std::abs(z))));
      right += (z > 0) == (y > 0.5) ? w : 0;
      weights += w;
    }
    // The last batch is smaller, but where 103 divides.
    for (const int64_t size : {1, 7, 50, 103}) {
      PredictPlan plan(args(weighted ? "weight" : ""));
      add_all(plan, size);
      EXPECT_EQ(plan.rows(), static_cast<uint64_t>(kRows));
      EXPECT_NEAR(plan.loss(), sum / weights, 1e-6) << size;
      ASSERT_EQ(plan.metrics().size(), 1u);
      EXPECT_EQ(plan.metrics()[0].first, "accuracy");
      if (weighted) {
        EXPECT_NEAR(plan.metrics()[0].second, right / weights, 1e-12) << size;
      } else {
        EXPECT_EQ(plan.metrics()[0].second, right / weights) << size;
      }
    }
  }
}

TEST_F(PredictPlanTest, ResetBeginsAnew) {
  PredictPlan plan(args());
  EXPECT_TRUE(std::isnan(plan.loss()));
  EXPECT_TRUE(std::isnan(plan.metrics()[0].second));
  add_all(plan, 20);
  const double loss = plan.loss(), accuracy = plan.metrics()[0].second;
  plan.reset();
  EXPECT_EQ(plan.rows(), 0u);
  EXPECT_TRUE(std::isnan(plan.loss()));
  add_all(plan, 20);
  EXPECT_EQ(plan.loss(), loss);
  EXPECT_EQ(plan.metrics()[0].second, accuracy);
}

TEST_F(PredictPlanTest, RowsWithoutWeightCountForNothing) {
  PredictPlan plan(args("weight"));
  RowBlock batch = rows_of(1, 2);
  plan.run(batch);
  const double loss = plan.loss();
  RowBlock none = rows_of(5, 1);
  ASSERT_EQ(*none.row<float>(2, 0), 0);
  none.row<float>(0, 0)[0] = NAN;
  plan.run(none);
  EXPECT_EQ(plan.loss(), loss);
  EXPECT_EQ(plan.rows(), 3u);
}

TEST_F(PredictPlanTest, TwoPlansAreTheMost) {
  PredictPlan plan(args());
  const size_t nothing = plan.bytes();
  plan.prepare(50);
  const size_t one = plan.bytes();
  EXPECT_GT(one, nothing);
  const size_t bound = plan.memory_bound(50);
  EXPECT_EQ(bound, one + (one - nothing));
  for (const int64_t size : {50, 3, 20, 50, 7}) {
    add_all(plan, size);
    EXPECT_LE(plan.bytes(), bound) << size;
  }
}

// The accumulator of auc takes memory for rows once a size is planned.
TEST_F(PredictPlanTest, CountsAccumulatorsInItsFirstBound) {
  metrics_.push_back({"auc", catalog_.metrics.make({"auc", Spec::map()}, Spec::map())});
  PredictPlan plan(args());
  const size_t first = plan.memory_bound(50);
  EXPECT_EQ(plan.memory_bound(50), first);
  EXPECT_GE(first, plan.bytes());
}

TEST_F(PredictPlanTest, TheOutputIsThatOfTheLastBatch) {
  PredictPlan plan(args());
  EXPECT_THROW(plan.output(), InternalError);
  plan.run(rows_of(0, 7));
  plan.run(rows_of(7, 3));
  const float first = plan.output().as<float>()[0];
  plan.memory_bound(7);
  plan.prepare(50);
  plan.prepare(20);
  EXPECT_EQ(plan.output().rows(), 3);
  EXPECT_EQ(plan.output().as<float>()[0], first);
  EXPECT_NEAR(first, logit(7), 1e-6);
}

TEST_F(PredictPlanTest, WithoutALossItReadsTheModelsFieldsAlone) {
  rows_.fields.resize(1);
  RowBlock batch;
  batch.configure(rows_, 2);
  batch.resize(2);
  for (int64_t row = 0; row < 2; ++row) std::copy_n(all_.row<float>(0, row), 2, batch.row<float>(0, row));
  PredictPlan plan({.model = model_, .context = context_, .rows = rows_});
  plan.run(batch);
  EXPECT_EQ(plan.rows(), 2u);
  EXPECT_TRUE(plan.metrics().empty());
  const ConstTensorView output = plan.output();
  EXPECT_EQ(output.spec(), (TensorSpec{Shape{2, 1}, DType::f32}));
  EXPECT_NEAR(static_cast<double>(*(output.as<float>() + output.stride())), logit(1), 1e-6);
}

TEST_F(PredictPlanTest, ALabelThatMakesNoSenseNamesItsRowAndCountsNothing) {
  PredictPlan plan(args());
  RowBlock batch = rows_of(0, 3);
  *batch.row<float>(1, 2) = 1.5F;
  try {
    plan.run(batch);
    FAIL();
  } catch (const RowError& error) {
    EXPECT_STREQ(error.what(),
                 "the field label holds 1.5, expected at least 0 and at most 1; 0 stands for no and 1 for yes");
    EXPECT_EQ(error.row, 2);
  }
  EXPECT_EQ(plan.rows(), 0u);
  plan.run(rows_of(0, 3));
}

TEST_F(PredictPlanTest, NamesBothSidesOfWhatDoesNotFit) {
  rows_.fields[0].shape = Shape{3};
  EXPECT_EQ(error_of<ShapeError>([&] { PredictPlan{args()}; }),
            "the model reads the field features as float32 (2), the input gives float32 (3); select as many columns as "
            "in the training");
  rows_.fields[0] = {"feature", DType::f32, {2}};
  EXPECT_EQ(error_of<ConfigError>([&] { PredictPlan{args()}; }),
            "the model reads the field \"features\", but the input gives feature: float32 (2), label: float32 (1), "
            "weight: float32 (1); did you mean feature?");
}

}  // namespace
}  // namespace millrace
