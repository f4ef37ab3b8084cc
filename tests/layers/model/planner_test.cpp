#include "millrace/layers/model/planner.h"

#include <gtest/gtest.h>

#include "tests/layers/follow_layer.h"
#include "tests/layers/lookup_layer.h"
#include "tests/layers/model/build_model.h"

namespace millrace::testing {
namespace {

class PlannerTest : public ::testing::Test {
 protected:
  // The plan of a model that reads features (4, 3).
  PlannedModel plan(const std::vector<LayerLine>& lines, ModelPlanArgs args = {}) {
    model_ = std::make_unique<Model>(build_model(context_, lines, features(Shape{3}), DType::f32, 23, with_follow()));
    args.inputs = {&field_, 1};
    return plan_model(*model_, context_, args);
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
    EXPECT_STREQ(error.what(), "layer odd: no such kernel");
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
