#include "millrace/trainer/step/step.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/layers/catalog.h"
#include "tests/layers/follow_layer.h"
#include "tests/trainer/step/counting_metric.h"

namespace millrace {
namespace {

// SGD that does not let the planner update in place.
class SeparateSgd final : public Optimizer {
 public:
  explicit SeparateSgd(const Optimizer& sgd) : sgd_(sgd) {}
  void scalars(uint64_t step, std::span<float> out) const override { sgd_.scalars(step, out); }
  void update(Context& context, const UpdateArgs& args) const override { sgd_.update(context, args); }

 private:
  const Optimizer& sgd_;
};

// Keeps what update() is called with.
class RecordingOptimizer final : public Optimizer {
 public:
  explicit RecordingOptimizer(std::vector<std::string> decayed) : decayed_(std::move(decayed)) {}
  int state_slots() const override { return 2; }
  bool decays(std::string_view parameter) const override {
    return std::find(decayed_.begin(), decayed_.end(), parameter) != decayed_.end();
  }
  void scalars(uint64_t step, std::span<float> out) const override { out[0] = static_cast<float>(step); }
  void update(Context&, const UpdateArgs& args) const override {
    calls.push_back(args);
    slots.emplace_back(args.slots.begin(), args.slots.end());
    steps.push_back(args.scalars[0]);
  }

  mutable std::vector<UpdateArgs> calls;
  mutable std::vector<std::vector<TensorView>> slots;
  mutable std::vector<float> steps;

 private:
  std::vector<std::string> decayed_;
};

// dense(1) on two features, sigmoid cross-entropy, accuracy, SGD 0.5.
class StepTest : public ::testing::Test {
 protected:
  StepTest() {
    loss_ = catalog_.losses.make({"sigmoid_cross_entropy", Spec::map()}, Spec::map());
    const Spec options = Spec::map().set("learning_rate", 0.5);
    sgd_ = catalog_.optimizers.make({"sgd", options}, options);
    metrics_.push_back({"accuracy", catalog_.metrics.make({"accuracy", Spec::map()}, Spec::map())});
  }

  // A chain of dense layers, each with its name and units.
  Model make_model(const std::vector<std::pair<std::string, int64_t>>& chain = {{"dense", 1}},
                   DType dtype = DType::f32) {
    std::vector<LayerNode> layers;
    for (const auto& [name, count] : chain) {
      const Spec units = Spec::map().set("units", count);
      layers.emplace_back();
      layers.back().name = name;
      layers.back().kind = "dense";
      layers.back().layer = catalog_.layers.make({"dense", units}, units);
    }
    return Model::build(
        {.layers = std::move(layers), .inputs = {{"features", {{2}, dtype}}}, .seed = 3, .dtype = dtype}, context_);
  }

  // Bytes from the start of one view to that of the other.
  static size_t offset_of(const ConstTensorView& view, const ConstTensorView& first) {
    return static_cast<size_t>(static_cast<const std::byte*>(view.data()) -
                               static_cast<const std::byte*>(first.data()));
  }

  StepArgs args(Model& model, const Optimizer& optimizer) {
    StepArgs out{.model = model, .context = context_, .loss = *loss_, .optimizer = optimizer, .rows = rows_};
    out.metrics = &metrics_;
    return out;
  }

  RowBlock make_batch(const std::vector<std::array<float, 3>>& rows) const {
    RowBlock batch;
    batch.configure(rows_, static_cast<int64_t>(rows.size()));
    batch.resize(static_cast<int64_t>(rows.size()));
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto row = static_cast<int64_t>(i);
      batch.row<float>(0, row)[0] = rows[i][0];
      batch.row<float>(0, row)[1] = rows[i][1];
      batch.row<float>(1, row)[0] = rows[i][2];
    }
    return batch;
  }

  LayerCatalog catalog_ = LayerCatalog::builtin();
  Executor executor_{2};
  Context context_{Device::cpu(), executor_};
  RowSpec rows_{{{"features", DType::f32, {2}}, {"label", DType::f32, {1}}}};
  std::unique_ptr<Loss> loss_;
  std::unique_ptr<Optimizer> sgd_;
  std::vector<NamedMetric> metrics_;
};

TEST_F(StepTest, TrainsAsByHand) {
  for (const bool in_place : {true, false}) {
    Model model = make_model();
    float* weight = model.parameter(0).as<float>();
    weight[0] = 0.25f;
    weight[1] = -0.5f;
    model.parameter(1).as<float>()[0] = 0.125f;
    const SeparateSgd separate(*sgd_);
    const auto step = TrainStep::make(args(model, in_place ? *sgd_ : static_cast<const Optimizer&>(separate)));
    step->run(make_batch({{1, 2, 1}, {-3, 0.5f, 0}}));

    // Logits -0.625 and -0.875; the first is wrong, the second right.
    const double p0 = 1 / (1 + std::exp(0.625)), p1 = 1 / (1 + std::exp(0.875));
    EXPECT_NEAR(step->loss(), (-std::log(p0) - std::log(1 - p1)) / 2, 1e-6);
    EXPECT_EQ(step->metrics()[0].second, 0.5);
    const double g0 = (p0 - 1) / 2, g1 = p1 / 2;
    EXPECT_NEAR(weight[0], 0.25 - 0.5 * (g0 * 1 + g1 * -3), 1e-6);
    EXPECT_NEAR(weight[1], -0.5 - 0.5 * (g0 * 2 + g1 * 0.5), 1e-6);
    EXPECT_NEAR(model.parameter(1).as<float>()[0], 0.125 - 0.5 * (g0 + g1), 1e-6);
    EXPECT_EQ(step->steps(), 1u);
  }
}

TEST_F(StepTest, ComputesMetricsOfABatchWhenAskedEvenIfItIsGone) {
  int batches = 0;
  metrics_.push_back({"counting", std::make_unique<CountingMetric>(batches)});
  Model model = make_model();
  float* weight = model.parameter(0).as<float>();
  weight[0] = 0.25f;
  weight[1] = -0.5f;
  model.parameter(1).as<float>()[0] = 0.125f;
  const auto step = TrainStep::make(args(model, *sgd_));
  RowBlock batch = make_batch({{1, 2, 1}, {-3, 0.5f, 0}});
  step->run(make_batch({{5, 6, 1}}));
  weight[0] = 0.25f;
  weight[1] = -0.5f;
  model.parameter(1).as<float>()[0] = 0.125f;
  step->run(batch);
  EXPECT_EQ(batches, 0);
  // The next batch is on its way.
  *batch.row<float>(1, 0) = 0;
  *batch.row<float>(1, 1) = 1;
  EXPECT_EQ(step->metrics()[0].second, 0.5);
  EXPECT_EQ(step->metrics()[0].second, 0.5);
  EXPECT_EQ(batches, 1);
}

TEST_F(StepTest, ComputesMetricsOfEveryBatchOfAWindow) {
  int batches = 0;
  metrics_.push_back({"counting", std::make_unique<CountingMetric>(batches)});
  Model model = make_model();
  StepArgs windowed = args(model, *sgd_);
  windowed.window_batches = 3;
  const auto step = TrainStep::make(windowed);
  for (int i = 0; i < 3; ++i) step->run(make_batch({{1, 2, 1}}));
  EXPECT_EQ(batches, 3);
}

TEST_F(StepTest, TrainsModelsOfDoublesOnLabelsOfFloats) {
  Model model = make_model({{"dense", 1}}, DType::f64);
  double* weight = model.parameter(0).as<double>();
  weight[0] = 0.25;
  weight[1] = -0.5;
  model.parameter(1).as<double>()[0] = 0.125;
  const auto step = TrainStep::make(args(model, *sgd_));
  step->run(make_batch({{1, 2, 1}, {-3, 0.5f, 0}}));
  const double p0 = 1 / (1 + std::exp(0.625)), p1 = 1 / (1 + std::exp(0.875));
  EXPECT_NEAR(step->loss(), (-std::log(p0) - std::log(1 - p1)) / 2, 1e-14);
  EXPECT_EQ(step->metrics()[0].second, 0.5);
  EXPECT_NEAR(weight[0], 0.25 - 0.5 * ((p0 - 1) / 2 - p1 / 2 * 3), 1e-14);
}

TEST_F(StepTest, RefusesALabelThatTheLossDoesNotKnow) {
  Model model = make_model();
  const auto step = TrainStep::make(args(model, *sgd_));
  const float before = *model.parameter(0).as<float>();
  for (const float bad : {-1.0f, 2.0f, std::numeric_limits<float>::quiet_NaN()}) {
    try {
      step->run(make_batch({{1, 2, 1}, {1, 2, 0.5f}, {1, 2, bad}}));
      FAIL() << bad;
    } catch (const RowError& error) {
      EXPECT_EQ(error.message(), cat("the field label holds ", bad, ", expected at least 0 and at most 1"));
      EXPECT_EQ(error.hint(), "0 stands for no and 1 for yes");
      EXPECT_EQ(error.row, 2);
    }
  }
  EXPECT_EQ(step->steps(), 0u);
  EXPECT_EQ(*model.parameter(0).as<float>(), before);
  step->run(make_batch({{1, 2, 1}}));
}

TEST_F(StepTest, WeighsRows) {
  rows_.fields.push_back({"w", DType::f64, {1}});
  Model model = make_model();
  float* weight = model.parameter(0).as<float>();
  weight[0] = weight[1] = 0;
  StepArgs arguments = args(model, *sgd_);
  arguments.weight = "w";
  const auto step = TrainStep::make(arguments);
  RowBlock batch = make_batch({{1, 2, 1}, {-3, 0.5f, 0}, {1, 1, 1}});
  const auto set_weights = [&](const std::array<double, 3>& weights) {
    for (int64_t row = 0; row < 3; ++row) *batch.row<double>(2, row) = weights[static_cast<size_t>(row)];
  };

  set_weights({0, 0, 0});
  step->run(batch);
  EXPECT_TRUE(std::isnan(step->loss())) << "no row counts";
  EXPECT_TRUE(std::isnan(step->metrics()[0].second));
  EXPECT_EQ(weight[0], 0);
  EXPECT_EQ(weight[1], 0);

  set_weights({3, 1, 0});
  step->run(batch);
  // Every logit is 0 and every slope 0.5: (3 * -0.5 * 1 + 0.5 * -3) / 4.
  EXPECT_NEAR(step->loss(), std::log(2.0), 1e-6);
  EXPECT_EQ(step->metrics()[0].second, 0.25);
  EXPECT_NEAR(weight[0], -0.5 * -0.75, 1e-6);

  for (const double bad : {-1.0, std::nan("")}) {
    set_weights({1, bad, 1});
    try {
      step->run(batch);
      FAIL() << bad;
    } catch (const RowError& error) {
      EXPECT_EQ(error.message(), cat("the field w holds ", bad, ", expected 0 or a number from 1e-20 to 1e+20"));
      EXPECT_EQ(error.row, 1);
    }
  }
}

TEST_F(StepTest, RefusesFeaturesThatWouldPoisonTheGradientThoughTheirRowDoesNotCount) {
  rows_.fields.push_back({"w", DType::f32, {1}});
  Model model = make_model();
  StepArgs arguments = args(model, *sgd_);
  arguments.weight = "w";
  const auto step = TrainStep::make(arguments);
  RowBlock batch = make_batch({{1, 2, 1}, {std::nanf(""), 0.5f, 0}});
  *batch.row<float>(2, 0) = 1;
  *batch.row<float>(2, 1) = 0;
  try {
    step->run(batch);
    FAIL();
  } catch (const RowError& error) {
    EXPECT_EQ(error.message(),
              "the field features holds nan in a row of weight 0, which would make every gradient nan");
    EXPECT_EQ(error.row, 1);
  }
  EXPECT_EQ(*model.parameter(0).as<float>(), *make_model().parameter(0).as<float>());
  batch.row<float>(0, 1)[0] = 3e38f;
  step->run(batch);
  EXPECT_TRUE(std::isfinite(*model.parameter(0).as<float>()));
}

// A layer's running mean would be NaN for good.
TEST_F(StepTest, SkippedBatchesLeaveTheStatesOfLayersAlone) {
  for (const int64_t accumulate : {1, 3}) {
    const LayerCatalog catalog = testing::with_follow();
    std::vector<LayerNode> layers(2);
    layers[0].kind = "follow";
    layers[0].layer = catalog.layers.make({"follow", Spec::map()}, Spec::map());
    const Spec units = Spec::map().set("units", 1);
    layers[1].kind = "dense";
    layers[1].layer = catalog.layers.make({"dense", units}, units);
    Model model = Model::build({.layers = std::move(layers), .inputs = {{"features", {{2}, DType::f32}}}}, context_);
    StepArgs arguments = args(model, *sgd_);
    arguments.gradients = {.accumulate = accumulate, .check_finite = true};
    const auto step = TrainStep::make(arguments);
    const RowBlock good = make_batch({{1, 2, 1}, {3, 4, 0}});
    const auto means = [&] {
      const float* mean = model.state(0).as<float>();
      return std::array<float, 2>{mean[0], mean[1]};
    };
    ASSERT_EQ(step->run(good), StepOutcome::trained);
    const std::array<float, 2> one = means();
    EXPECT_EQ(one, (std::array<float, 2>{1.25f, 1.75f})) << "half the way from 0.5 to the batch's mean";
    EXPECT_EQ(step->run(make_batch({{std::nanf(""), 0, 1}})), StepOutcome::loss_not_finite);
    EXPECT_EQ(means(), one) << "of the batches before, also of one that has no update yet";
    EXPECT_EQ(step->run(good), StepOutcome::trained);
    EXPECT_EQ(means(), (std::array<float, 2>{1.625f, 2.375f}));
  }
}

TEST_F(StepTest, AnUpdateThatIsSkippedTakesTheStatesOfAllItsBatchesBack) {
  const LayerCatalog catalog = testing::with_follow();
  std::vector<LayerNode> layers(2);
  layers[0].kind = "follow";
  layers[0].layer = catalog.layers.make({"follow", Spec::map()}, Spec::map());
  const Spec units = Spec::map().set("units", 1);
  layers[1].kind = "dense";
  layers[1].layer = catalog.layers.make({"dense", units}, units);
  Model model = Model::build({.layers = std::move(layers), .inputs = {{"features", {{2}, DType::f32}}}}, context_);
  loss_ = catalog.losses.make({"mse", Spec::map()}, Spec::map());
  StepArgs arguments = args(model, *sgd_);
  arguments.gradients = {.accumulate = 2, .check_finite = true};
  const auto step = TrainStep::make(arguments);
  // A large value times a small weight: the loss is a number, but the weight's gradient, value times slope, is not.
  float* weight = model.parameter(0).as<float>();
  weight[0] = 1;
  weight[1] = 0;
  model.state(0).as<float>()[0] = 2;
  EXPECT_EQ(step->run(make_batch({{1, 2, 1}})), StepOutcome::trained);
  EXPECT_EQ(model.state(0).as<float>()[0], 1.5f);
  weight[0] = 1e-30f;
  EXPECT_EQ(step->run(make_batch({{2e19f, 2, 1}})), StepOutcome::gradient_not_finite);
  EXPECT_EQ(model.state(0).as<float>()[0], 2) << "as before the first batch of the update";
}

TEST_F(StepTest, JoinsAWindow) {
  Model model = make_model();
  StepArgs arguments = args(model, *sgd_);
  arguments.window_batches = 3;
  const auto step = TrainStep::make(arguments);
  double sum = 0;
  for (int i = 0; i < 3; ++i) {
    step->run(make_batch({{1, 2, 1}, {-3, 0.5f, 0}}));
    sum += step->batch_loss();
  }
  EXPECT_NEAR(step->loss(), sum / 3, 1e-6);
  step->start_window();
  EXPECT_TRUE(std::isnan(step->loss()));
  step->run(make_batch({{1, 2, 1}}));
  EXPECT_EQ(step->loss(), step->batch_loss());
}

TEST_F(StepTest, RefusesWeightsOfSeveralNumbersARow) {
  rows_.fields.push_back({"w", DType::f32, {2}});
  Model model = make_model();
  StepArgs arguments = args(model, *sgd_);
  arguments.weight = "w";
  try {
    const auto step = TrainStep::make(arguments);
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_EQ(error.message(), "the field w of row weights is float32 (2), expected one number per row");
  }
}

TEST_F(StepTest, KeepsEightPlansAndMakesAnEvictedOneAgain) {
  Model model = make_model();
  const auto step = TrainStep::make(args(model, *sgd_));
  const auto run = [&](int rows) {
    step->run(make_batch(std::vector<std::array<float, 3>>(static_cast<size_t>(rows), {1, -1, 1})));
    return step->bytes();
  };
  size_t held = 0;
  for (int rows = 1; rows <= 8; ++rows) {
    const size_t more = run(rows);
    EXPECT_GT(more, held) << rows;
    held = more;
  }
  EXPECT_EQ(run(1), held) << "the plan is still there, and now the newest";
  const size_t with_nine = run(9);
  EXPECT_LT(run(2), with_nine) << "2 rows went for 9, and come back for 3";
  EXPECT_EQ(step->steps(), 11u);
}

// Optimizers with state too: these have gradients and slots beside the plans.
TEST_F(StepTest, HoldsNoMoreThanItsBoundWhateverTheLastBatch) {
  Model model = make_model({{"a", 300}, {"b", 200}, {"c", 1}});
  const RecordingOptimizer stateful({});
  for (const int64_t rows : {7, 65, 257, 300}) {
    for (const Optimizer* optimizer :
         {static_cast<const Optimizer*>(sgd_.get()), static_cast<const Optimizer*>(&stateful)}) {
      size_t bound = 0;
      for (int64_t last = rows - 1; last > 0; last -= rows < 100 ? 1 : 11) {
        const auto step = TrainStep::make(args(model, *optimizer));
        bound = step->memory_bound(rows);
        EXPECT_GT(step->bytes(), bound / 3) << rows;
        step->prepare(last);
        EXPECT_LE(step->bytes(), bound) << rows << " and then " << last;
        EXPECT_EQ(step->memory_bound(rows), bound);
      }
      const size_t slots = optimizer == &stateful ? 3 * model.parameter_block().spec().bytes() : 0;
      EXPECT_GT(bound, slots) << rows;
    }
  }
}

TEST_F(StepTest, CountsWhatThreadsNeed) {
  Model model = make_model({{"a", 300}, {"b", 200}, {"c", 1}});
  const auto bound = [&](int threads) {
    Executor executor(threads);
    Context context(Device::cpu(), executor);
    return TrainStep::make({.model = model, .context = context, .loss = *loss_, .optimizer = *sgd_, .rows = rows_})
        ->memory_bound(300);
  };
  // The two plans' two larger products, each with a tile of at least 152 x 64 sums for each thread.
  EXPECT_GE(bound(2), bound(1) + 2 * 2 * 152 * 64 * sizeof(float));
}

TEST_F(StepTest, UpdatesEachRunOfParametersThatDecayAlike) {
  struct Case {
    std::vector<std::string> decayed;
    std::vector<size_t> first;  // parameter of each run
  };
  const Case cases[] = {{{}, {0}},
                        {{"a.weight", "a.bias", "b.weight", "b.bias"}, {0}},
                        {{"a.weight", "b.weight"}, {0, 1, 2, 3}},
                        {{"a.bias", "b.weight"}, {0, 1, 3}}};
  for (const Case& expected : cases) {
    Model model = make_model({{"a", 3}, {"b", 1}});
    const RecordingOptimizer optimizer(expected.decayed);
    const auto step = TrainStep::make(args(model, optimizer));
    step->run(make_batch({{1, 2, 1}}));
    step->run(make_batch({{1, 2, 1}}));
    const size_t runs = expected.first.size();
    ASSERT_EQ(optimizer.calls.size(), 2 * runs);
    const auto* const block = static_cast<const std::byte*>(model.parameter_block().data());
    const size_t block_bytes = model.parameter_block().spec().bytes();
    for (size_t i = 0; i < runs; ++i) {
      const UpdateArgs& call = optimizer.calls[i];
      const size_t begin = model.parameters()[expected.first[i]].offset;
      const size_t end = i + 1 < runs ? model.parameters()[expected.first[i + 1]].offset : block_bytes;
      EXPECT_EQ(call.parameters.data(), block + begin);
      EXPECT_EQ(call.parameters.spec().bytes(), end - begin);
      EXPECT_EQ(call.decay, optimizer.decays(model.parameters()[expected.first[i]].name));
      EXPECT_EQ(call.gradient_scale, nullptr);
      EXPECT_EQ(call.gradients.spec(), call.parameters.spec());
      ASSERT_EQ(optimizer.slots[i].size(), 2u);
      for (size_t k = 0; k < 2; ++k) {
        EXPECT_EQ(optimizer.slots[i][k].spec(), call.parameters.spec());
        // Every block is cut alike.
        EXPECT_EQ(offset_of(optimizer.slots[i][k], optimizer.slots[0][k]), begin);
      }
      EXPECT_EQ(offset_of(call.gradients, optimizer.calls[0].gradients), begin);
      EXPECT_EQ(optimizer.steps[i], 0);
      EXPECT_EQ(optimizer.steps[runs + i], 1);
    }
  }
}

TEST_F(StepTest, KeepsTheMetricsOfTheLastBatchWhateverIsPrepared) {
  Model model = make_model();
  const auto step = TrainStep::make(args(model, *sgd_));
  float* weight = model.parameter(0).as<float>();
  weight[0] = 1;
  weight[1] = 0;
  step->run(make_batch({{1, 0, 1}, {1, 0, 0}, {1, 0, 1}, {1, 0, 1}}));
  for (int64_t rows = 10; rows < 30; ++rows) step->prepare(rows);
  EXPECT_EQ(step->metrics()[0].second, 0.75);
}

TEST_F(StepTest, UpdatesBehindEveryFewBatches) {
  Model model = make_model();
  RecordingOptimizer optimizer({});
  StepArgs wanted = args(model, optimizer);
  wanted.gradients.accumulate = 3;
  const auto step = TrainStep::make(wanted);
  const RowBlock batch = make_batch({{1, 2, 1}, {3, 4, 0}});
  for (int i = 0; i < 4; ++i) EXPECT_EQ(step->run(batch), StepOutcome::trained);
  EXPECT_EQ(step->steps(), 4u);
  EXPECT_EQ(step->updates(), 1u);
  ASSERT_EQ(optimizer.calls.size(), 1u);
  EXPECT_EQ(*optimizer.calls[0].gradient_scale, 1.0F / 6) << "six rows";
  EXPECT_EQ(step->flush(), StepOutcome::trained);
  EXPECT_EQ(step->updates(), 2u);
  EXPECT_EQ(*optimizer.calls[1].gradient_scale, 1.0F / 2);
  EXPECT_EQ(optimizer.steps, (std::vector<float>{0, 1})) << "schedules count updates";
  step->flush();
  EXPECT_EQ(step->updates(), 2u) << "nothing was left";
}

TEST_F(StepTest, CountsOnFromAnotherTraining) {
  Model model = make_model();
  RecordingOptimizer optimizer({});
  const auto step = TrainStep::make(args(model, optimizer));
  ASSERT_EQ(step->slots().size(), 2u);
  EXPECT_EQ(step->slots()[0].spec(), model.parameter_block().spec());
  step->resume(70, 35);
  step->run(make_batch({{1, 2, 1}}));
  EXPECT_EQ(step->steps(), 71u);
  EXPECT_EQ(optimizer.steps, std::vector<float>{35});
}

TEST_F(StepTest, TrainsNothingOnALossThatIsNotFinite) {
  Model model = make_model();
  StepArgs wanted = args(model, *sgd_);
  wanted.gradients.check_finite = true;
  const auto step = TrainStep::make(wanted);
  const float before = model.parameter(0).as<float>()[0];
  EXPECT_EQ(step->run(make_batch({{1, 2, 1}, {std::numeric_limits<float>::quiet_NaN(), 4, 0}})),
            StepOutcome::loss_not_finite);
  EXPECT_TRUE(std::isnan(step->loss()));
  EXPECT_EQ(model.parameter(0).as<float>()[0], before);
  EXPECT_EQ(step->steps(), 1u);
  EXPECT_EQ(step->skipped(), 1u);
  EXPECT_EQ(step->run(make_batch({{1, 2, 1}})), StepOutcome::trained);
  EXPECT_NE(model.parameter(0).as<float>()[0], before);
  EXPECT_EQ(step->updates(), 1u);
}

TEST_F(StepTest, TrainsNothingOnAGradientThatIsNotFinite) {
  Model model = make_model({{"a", 1}, {"b", 1}});
  const auto set = [&model](size_t parameter, int64_t i, float value) {
    model.parameter(parameter).as<float>()[i] = value;
  };
  set(0, 0, 0.1F);
  set(0, 1, 0);
  set(2, 0, 2);
  StepArgs wanted = args(model, *sgd_);
  wanted.gradients.check_finite = true;
  wanted.gradients.accumulate = 2;
  wanted.gradients.clip_value = 1;
  const auto step = TrainStep::make(wanted);
  // The logit is 0.6e38, and so is the loss; the gradient of a's weight is 6e38, which no float holds.
  EXPECT_EQ(step->run(make_batch({{1, 1, 1}})), StepOutcome::trained);
  EXPECT_EQ(step->run(make_batch({{3e38F, 0, 0}})), StepOutcome::gradient_not_finite);
  EXPECT_TRUE(std::isfinite(step->loss()));
  EXPECT_EQ(step->skipped(), 2u) << "both batches of the update";
  EXPECT_EQ(step->updates(), 0u);
  EXPECT_EQ(model.parameter(0).as<float>()[0], 0.1F);
  EXPECT_EQ(step->run(make_batch({{1, 1, 1}})), StepOutcome::trained);
  EXPECT_EQ(step->run(make_batch({{1, 1, 1}})), StepOutcome::trained);
  EXPECT_EQ(step->updates(), 1u);
  EXPECT_NE(model.parameter(0).as<float>()[0], 0.1F);
}

TEST_F(StepTest, SaysWhichFieldIsMissing) {
  Model model = make_model();
  rows_.fields[1].name = "lable";
  try {
    const auto step = TrainStep::make(args(model, *sgd_));
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.message(),
              "the loss reads the field \"label\", but the input gives features: float32 (2), lable: float32 (1)");
    EXPECT_EQ(error.hint(), "did you mean lable?");
  }
}

TEST_F(StepTest, RefusesALabelThatDoesNotFitTheModel) {
  Model model = make_model();
  rows_.fields[1].shape = {3};
  EXPECT_THROW(TrainStep::make(args(model, *sgd_)), ShapeError);
}

}  // namespace
}  // namespace millrace
