#include "millrace/layers/model/planner.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "millrace/core/random.h"
#include "millrace/core/sizes.h"
#include "tests/layers/follow_layer.h"
#include "tests/layers/lookup_layer.h"
#include "tests/layers/model/build_model.h"

namespace millrace::testing {
namespace {

class PlannerTest : public ::testing::Test {
 protected:
  // The plan of a model that reads features (4, 3).
  PlannedModel plan(const std::vector<LayerLine>& lines, ModelPlanArgs args = {}) {
    model_ = std::make_unique<Model>(build_model(context_, lines, features(row_), DType::f32, 23, with_follow()));
    args.inputs = {&field_, 1};
    return plan_model(*model_, context_, args);
  }
  void set_row(int64_t values) {
    row_ = Shape{values};
    field_ = TensorView(nullptr, DType::f32, Shape{4, values}, 64);
  }
  std::string error_of(const TensorView& field) {
    field_ = field;
    try {
      plan({{.kind = "relu"}});
    } catch (const ShapeError& error) {
      return error.what();
    }
    return "no error";
  }

  Executor executor_{1};
  Context context_{Device::cpu(), executor_};
  TensorView field_{nullptr, DType::f32, Shape{4, 3}, 64};
  Shape row_{3};
  std::unique_ptr<Model> model_;
};

LayerLine dense(std::string name, std::vector<std::string> from = {}) {
  return {.kind = "dense", .options = dense_units(3), .from = std::move(from), .name = std::move(name)};
}

TEST_F(PlannerTest, ComputesNoGradientOfFields) {
  const PlannedModel planned = plan({dense("a"), dense("b")});
  EXPECT_FALSE(planned.layers[0].input_gradients[0]);
  EXPECT_TRUE(planned.layers[1].input_gradients[0]);
  EXPECT_EQ(planned.layers[1].input_gradients[0].view.data(), planned.layers[0].output_gradient.data());
  EXPECT_EQ(planned.output_gradient.data(), planned.layers[1].output_gradient.data());
}

std::vector<std::string> names_of(const PlannedModel& planned) {
  std::vector<std::string> out;
  for (const PlannedLayer& layer : planned.layers) out.push_back(cat(layer.name, layer.as_images ? "*" : ""));
  return out;
}

LayerLine reshape(std::initializer_list<int> sizes) {
  Spec shape = Spec::list();
  for (const int size : sizes) shape.append(Spec::of(size));
  return {.kind = "reshape", .options = Spec::map().set("shape", shape)};
}

LayerLine conv(int filters, std::vector<std::string> from = {}) {
  return {.kind = "conv2d", .options = Spec::map().set("filters", filters).set("kernel", 1), .from = std::move(from)};
}

TEST_F(PlannerTest, LaysImagesOutAnewWhereLayersDiffer) {
  set_row(12);
  const PlannedModel planned = plan({reshape({3, 2, 2}), conv(5), {.kind = "relu"}, {.kind = "flatten"}, dense("out")});
  EXPECT_EQ(names_of(planned), (std::vector<std::string>{"reshape", "reshape as images*", "conv2d*", "relu*",
                                                         "relu as rows", "flatten", "out"}));
  EXPECT_EQ(planned.layers[2].output.row_bytes(), 5 * 4 * sizeof(float)) << "no gaps";
  EXPECT_EQ(planned.layers[4].output.row_bytes(), 128u);
  EXPECT_FALSE(planned.layers[1].trained);
  EXPECT_TRUE(planned.layers[4].trained);
  EXPECT_EQ(planned.layers[4].input_gradients[0].view.data(), planned.layers[3].output_gradient.data());
}

TEST_F(PlannerTest, LaysOutOnceForAllReaders) {
  set_row(12);
  const PlannedModel planned = plan({reshape({3, 2, 2}),
                                     conv(3),
                                     conv(3, {"reshape"}),
                                     {.kind = "add", .from = {"conv2d", "conv2d_2"}},
                                     {.kind = "add", .from = {"add", "reshape"}, .name = "sum"}});
  EXPECT_EQ(names_of(planned), (std::vector<std::string>{"reshape", "reshape as images*", "conv2d*", "conv2d_2*",
                                                         "add*", "sum*", "sum as rows"}))
      << "the last one is for the loss";
}

TEST_F(PlannerTest, LeavesImagesAsTheyAreWhereTheyFit) {
  set_row(16);
  EXPECT_EQ(names_of(plan({reshape({1, 4, 4}), conv(16), {.kind = "global_avg_pool"}, dense("out")})),
            (std::vector<std::string>{"reshape", "conv2d*", "global_avg_pool", "out"}));
  set_row(15);
  EXPECT_EQ(names_of(plan({reshape({1, 3, 5}), conv(1), {.kind = "flatten"}, dense("out")})),
            (std::vector<std::string>{"reshape", "reshape as images*", "conv2d*", "conv2d as rows", "flatten", "out"}))
      << "rows have gaps, images have none";
}

TEST_F(PlannerTest, SkipsBackwardBeforeTheFirstParameter) {
  const PlannedModel planned =
      plan({{.kind = "relu"}, dense("a"), {.kind = "relu"}, {.kind = "add", .from = {"relu", "relu_2"}}});
  EXPECT_FALSE(planned.layers[0].trained);
  EXPECT_FALSE(planned.layers[0].output_gradient);
  EXPECT_FALSE(planned.layers[1].input_gradients[0]);
  EXPECT_TRUE(planned.layers[2].trained);
  EXPECT_TRUE(planned.layers[3].trained);
  EXPECT_FALSE(planned.layers[3].input_gradients[0]);
  EXPECT_TRUE(planned.layers[3].input_gradients[1]);
}

TEST_F(PlannerTest, WritesTheFirstGradientOfAnOutputAndAddsTheOthers) {
  const PlannedModel planned = plan({dense("a"),
                                     dense("b"),
                                     dense("c", {"a"}),
                                     {.kind = "add", .from = {"b", "c"}},
                                     {.kind = "add", .from = {"a", "add", "a"}}});
  const auto gradient = [&](size_t layer, size_t input) { return planned.layers[layer].input_gradients[input]; };
  // Backward runs add_2 (a, add, a), add, c, b: only the first of all is written.
  EXPECT_EQ(gradient(4, 0).beta, 0);
  EXPECT_EQ(gradient(4, 1).beta, 0);
  EXPECT_EQ(gradient(4, 2).beta, 1);
  EXPECT_EQ(gradient(3, 0).beta, 0);
  EXPECT_EQ(gradient(3, 1).beta, 0);
  EXPECT_EQ(gradient(2, 0).beta, 1);
  EXPECT_EQ(gradient(1, 0).beta, 1);
  for (const auto& [layer, input] : {std::pair{4, 2}, {2, 0}, {1, 0}}) {
    EXPECT_EQ(gradient(static_cast<size_t>(layer), static_cast<size_t>(input)).view.data(), gradient(4, 0).view.data());
  }
}

TEST_F(PlannerTest, ShowsBackwardOnlyWhatItReads) {
  const PlannedModel planned =
      plan({dense("a"), {.kind = "relu"}, {.kind = "dense", .options = dense_units(3, "relu")}});
  EXPECT_FALSE(planned.layers[0].kept_output);
  EXPECT_FALSE(planned.layers[1].kept_inputs[0]);
  EXPECT_EQ(planned.layers[1].kept_output.data(), planned.layers[1].output.data());
  EXPECT_EQ(planned.layers[2].kept_inputs[0].data(), planned.layers[1].output.data());
  EXPECT_TRUE(planned.layers[2].kept_output);
}

TEST_F(PlannerTest, PointsGradientsAtTheParametersWhenUpdatingInPlace) {
  const PlannedModel apart = plan({dense("a")});
  EXPECT_EQ(apart.layers[0].parameter_gradients[0].beta, 0);
  EXPECT_EQ(apart.layers[0].gradient_offsets, (std::vector<size_t>{0, 64}));
  EXPECT_EQ(apart.gradient_block, (TensorSpec{Shape{32}, DType::f32}));
  const PlannedModel in_place = plan({dense("a")}, {.inputs = {}, .gradient_target = GradientTarget::parameters});
  EXPECT_EQ(in_place.layers[0].parameter_gradients[1].beta, 1);
  EXPECT_EQ(in_place.layers[0].parameter_gradients[1].view.data(), model_->parameter(1).data());
  const PlannedModel added = plan({dense("a")}, {.inputs = {}, .gradient_target = GradientTarget::block_add});
  EXPECT_EQ(added.layers[0].parameter_gradients[1].beta, 1);
}

TEST_F(PlannerTest, PadsRows) {
  const PlannedModel planned = plan({dense("a")});
  EXPECT_EQ(planned.layers[0].output.shape(), (Shape{4, 3}));
  EXPECT_EQ(planned.layers[0].output.row_bytes(), 64U);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(planned.layers[0].output.data()) % 64, 0U);
}

TEST_F(PlannerTest, SharesMemory) {
  const std::vector<LayerLine> chain = {
      {.kind = "relu"}, {.kind = "relu"}, {.kind = "relu"}, {.kind = "relu"}, dense("a")};
  constexpr size_t row = 4 * 64;
  // A chain of five that is only run forward needs two places.
  EXPECT_EQ(plan(chain, {.inputs = {}, .mode = Mode::predict}).memory.bytes(), 2 * row);
  EXPECT_EQ(plan(chain, {.inputs = {}, .mode = Mode::predict, .share_memory = false}).memory.bytes(), 5 * row);
  EXPECT_LT(plan(chain).memory.bytes(), plan(chain, {.inputs = {}, .share_memory = false}).memory.bytes());
}

TEST_F(PlannerTest, NeedsNoGradientsToPredict) {
  const PlannedModel planned = plan({dense("a"), dense("b")}, {.inputs = {}, .mode = Mode::predict});
  EXPECT_FALSE(planned.output_gradient);
  for (const PlannedLayer& layer : planned.layers) {
    EXPECT_FALSE(layer.trained);
    EXPECT_FALSE(layer.output_gradient);
    EXPECT_FALSE(layer.input_gradients[0]);
    EXPECT_EQ(layer.backward_scratch, nullptr);
  }
}

TEST_F(PlannerTest, GivesEachLayerItsStateToChangeWhileTraining) {
  const std::vector<LayerLine> lines = {{.kind = "follow"}, dense("a"), {.kind = "follow"}};
  const PlannedModel training = plan(lines);
  ASSERT_EQ(training.layers[2].mutable_state.size(), 1U);
  EXPECT_EQ(training.layers[2].mutable_state[0].data(), model_->state(1).data());
  EXPECT_EQ(training.layers[2].state[0].data(), model_->state(1).data());
  EXPECT_TRUE(training.layers[1].state.empty());
  const PlannedModel predicting = plan(lines, {.inputs = {}, .mode = Mode::predict});
  EXPECT_TRUE(predicting.layers[2].mutable_state.empty());
  EXPECT_EQ(predicting.layers[2].state[0].data(), model_->state(1).data());
}

TEST_F(PlannerTest, HasAPlaceForTheGradientOfAModelWithoutParameters) {
  const PlannedModel planned = plan({{.kind = "relu"}});
  EXPECT_TRUE(planned.output_gradient);
  EXPECT_NE(planned.output_gradient.data(), planned.layers[0].output.data());
}

TEST_F(PlannerTest, PassesNoGradientThroughWholeNumbers) {
  const auto plan_of = [&](const std::vector<LayerLine>& lines, Mode mode) {
    Model model = build_model(context_, lines, features(Shape{3}), DType::f32, 1, with_lookup());
    return plan_model(model, context_, {.inputs = {&field_, 1}, .mode = mode});
  };
  const PlannedModel planned = plan_of({{.kind = "relu"}, {.kind = "rank"}, {.kind = "lookup"}}, Mode::train);
  EXPECT_FALSE(planned.layers[1].trained);
  EXPECT_TRUE(planned.layers[2].trained);
  EXPECT_FALSE(planned.layers[2].input_gradients[0]);
  const std::vector<LayerLine> cut = {dense("a"), {.kind = "rank"}, {.kind = "lookup"}};
  EXPECT_TRUE(plan_of(cut, Mode::predict).layers[2].output);
  try {
    plan_of(cut, Mode::train);
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_STREQ(
        error.what(),
        "layer rank: its output is int32 (3), and no gradient passes whole numbers to the parameters before it");
  }
}

// A layer whose values have any sizes: it says what it needs, and never runs.
class Sized final : public Layer {
 public:
  struct Options {
    int64_t units = 1, saved = 0, saved_rows = 1, scratch = 0, scratch_rows = 1;
    bool parameter = false, reads_inputs = false, reads_output = false;
    void declare(OptionReader& o) {
      o.optional("units", units, "values of the output");
      o.optional("saved", saved, "bytes that it keeps for each saved_rows rows");
      o.optional("saved_rows", saved_rows, "see saved");
      o.optional("scratch", scratch, "bytes of scratch for each scratch_rows rows");
      o.optional("scratch_rows", scratch_rows, "see scratch");
      o.optional("parameter", parameter, "whether it is trained");
      o.optional("reads_inputs", reads_inputs, "whether backward reads its inputs");
      o.optional("reads_output", reads_output, "whether backward reads its output");
    }
  };
  static constexpr std::string_view kDoc = "needs memory";
  explicit Sized(const Options& options) : options_(options) {}

  int max_inputs() const override { return -1; }
  TensorSpec build(std::span<const TensorSpec>, ParamBuilder& params) override {
    if (options_.parameter) params.parameter("weight", {1}, {});
    return {Shape{options_.units}, params.dtype()};
  }
  std::unique_ptr<LayerPlan> plan(Context&, const PlanArgs& args) const override {
    return std::make_unique<Plan>(options_, args.output.rows());
  }

 private:
  class Plan final : public LayerPlan {
   public:
    Plan(const Options& options, int64_t rows) : options_(options), rows_(rows) {}
    size_t saved_bytes() const override { return bytes_of(options_.saved, options_.saved_rows); }
    size_t scratch_bytes() const override { return bytes_of(options_.scratch, options_.scratch_rows); }
    bool backward_reads_inputs() const override { return options_.reads_inputs; }
    bool backward_reads_output() const override { return options_.reads_output; }
    void forward(Context&, const ForwardArgs&) override {}
    void backward(Context&, const BackwardArgs&) override {}

   private:
    size_t bytes_of(int64_t bytes, int64_t rows) const { return static_cast<size_t>(bytes * ceil_div(rows_, rows)); }

    Options options_;
    int64_t rows_;
  };

  Options options_;
};

// A graph of Sized layers, each of which reads the one before it, and half of them one of the last three as well.
std::vector<LayerLine> drawn_graph(uint64_t number) {
  uint64_t draws = 0;
  const auto draw = [&](int64_t below) { return static_cast<int64_t>(philox64(number, 1, draws++) % uint64_t(below)); };
  const int64_t layers = 2 + draw(12);
  std::vector<LayerLine> lines;
  for (int64_t i = 0; i < layers; ++i) {
    LayerLine line{.kind = "sized", .name = cat('l', i)};
    if (i > 0) line.from.push_back(cat('l', i - 1));
    if (i > 0 && draw(2) == 1) line.from.push_back(cat('l', i - 1 - draw(std::min<int64_t>(i, 3))));
    line.options.set("units", 1 + draw(200)).set("saved", draw(2) * draw(900)).set("saved_rows", 1 + draw(9));
    line.options.set("scratch", draw(2) * draw(9000)).set("scratch_rows", 1 + draw(70)).set("parameter", draw(3) > 0);
    line.options.set("reads_inputs", draw(2) == 1).set("reads_output", draw(2) == 1);
    lines.push_back(std::move(line));
  }
  return lines;
}

TEST_F(PlannerTest, TakesNoMoreMemoryForFewerRows) {
  LayerCatalog catalog = LayerCatalog::builtin();
  catalog.layers.add<Sized>("sized");
  std::vector<std::vector<LayerLine>> graphs = {{{.kind = "dense", .options = dense_units(64, "relu")},
                                                 {.kind = "scale"},
                                                 {.kind = "dense", .options = dense_units(96, "gelu")},
                                                 {.kind = "gelu"}}};
  for (uint64_t number = 0; number < 40; ++number) graphs.push_back(drawn_graph(number));
  for (size_t number = 0; number < graphs.size(); ++number) {
    Model model = build_model(context_, graphs[number], features(Shape{3}), DType::f32, 23, catalog);
    for (const Mode mode : {Mode::train, Mode::predict}) {
      size_t fewer = 0;
      for (int64_t rows = 1; rows <= 70; ++rows) {
        const TensorView field(nullptr, DType::f32, Shape{rows, 3}, 64);
        const size_t bytes = plan_model(model, context_, {.inputs = {&field, 1}, .mode = mode}).memory.bytes();
        ASSERT_GE(bytes, fewer) << "graph " << number << ", " << rows << " rows";
        fewer = bytes;
      }
    }
  }
}

// A layer whose plan fails.
class Unplannable final : public Layer {
 public:
  struct Options {
    void declare(OptionReader&) {}
  };
  static constexpr std::string_view kDoc = "cannot be planned";
  explicit Unplannable(const Options&) {}
  TensorSpec build(std::span<const TensorSpec> inputs, ParamBuilder&) override { return inputs[0]; }
  std::unique_ptr<LayerPlan> plan(Context&, const PlanArgs&) const override { throw DeviceError("no such kernel"); }
};

TEST_F(PlannerTest, NamesTheLayerThatCannotBePlanned) {
  LayerCatalog catalog = LayerCatalog::builtin();
  catalog.layers.add<Unplannable>("unplannable");
  Model model = Model::build(
      {.layers = layer_nodes({{.kind = "unplannable", .name = "odd"}}, catalog), .inputs = features(Shape{3})},
      context_);
  try {
    plan_model(model, context_, {.inputs = {&field_, 1}});
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.message(), "layer odd: no such kernel");
  }
}

TEST_F(PlannerTest, ChecksFields) {
  EXPECT_EQ(error_of(TensorView(nullptr, DType::f32, Shape{4, 2})),
            "the field features of the batch is float32 (4, 2), the model expects float32 (4, 3)");
  EXPECT_EQ(error_of(TensorView(nullptr, DType::f32, Shape{0, 3})),
            "the field features of the batch is float32 (0, 3), the model expects float32 (1, 3)");
  EXPECT_EQ(error_of(TensorView(nullptr, DType::f64, Shape{4, 3})),
            "the field features of the batch is float64 (4, 3), the model expects float32 (4, 3)");
  try {
    plan_model(*model_, context_, {});
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_STREQ(error.what(), "the model reads 1 field, got 0");
  }
}

}  // namespace
}  // namespace millrace::testing
