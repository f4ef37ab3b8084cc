#include "millrace/layers/model/fusions/head_fusion.h"

#include <gtest/gtest.h>

#include "millrace/layers/model/planner.h"
#include "tests/layers/losses/loss_run.h"
#include "tests/layers/model/build_model.h"
#include "tests/support/cuda.h"

namespace millrace::testing {
namespace {

using Lines = std::vector<LayerLine>;

const Lines kRectified = {{"dense", dense_units(8, "relu")}, {"dense", dense_units(1)}};
const Lines kBent = {{"dense", dense_units(8, "tanh")}, {"dense", dense_units(1)}};
const TensorView kField(nullptr, DType::f32, Shape{4, 3}, 64);

std::vector<std::string> step_names(Context& context, const Lines& lines, Mode mode = Mode::train,
                                    DType dtype = DType::f32) {
  Model model = build_model(context, lines, features(Shape{3}, dtype), dtype);
  const TensorView field(nullptr, dtype, Shape{4, 3}, 64);
  std::vector<std::string> names;
  for (const PlannedLayer& layer : plan_model(model, context, {.inputs = {&field, 1}, .mode = mode}).layers) {
    names.push_back(layer.name);
  }
  return names;
}

const std::vector<std::string> kApart = {"dense", "dense_2"}, kTogether = {"dense and dense_2"};

TEST(HeadFusion, IsNotForTheCpu) {
  Executor executor(1);
  Context context(Device::cpu(), executor);
  EXPECT_EQ(step_names(context, kRectified), kApart);
}

class CudaHeadFusion : public test::CudaTest {};

TEST_F(CudaHeadFusion, JoinsTheLastTwoLayers) {
  EXPECT_EQ(step_names(context(), kRectified), kTogether);
  EXPECT_EQ(step_names(context(), kRectified, Mode::predict), kApart);
  EXPECT_EQ(step_names(context(), kRectified, Mode::train, DType::f64), kApart);
  EXPECT_EQ(step_names(context(), kBent), kApart) << "only a rectifier is taken";
  EXPECT_EQ(step_names(context(), {{"dense", dense_units(8, "relu")}, {"dense", dense_units(2)}}), kApart);
  const LayerLine first{.kind = "dense", .options = dense_units(1, "relu"), .from = {}, .name = "a"};
  EXPECT_EQ(step_names(context(),
                       {first, {.kind = "dense", .options = dense_units(1)}, {.kind = "add", .from = {"a", "dense"}}}),
            (std::vector<std::string>{"a", "dense", "add"}))
      << "another layer reads it";
}

// The loss comes with the head where it can, and where the head is no more than a product.
TEST_F(CudaHeadFusion, LeavesTheHeadToTheLoss) {
  const auto leaves = [&](const Lines& lines, const char* kind) {
    Model model = build_model(context(), lines, features(Shape{3}));
    ModelPlan plan(model, context(), {.inputs = {&kField, 1}});
    const TensorView label(nullptr, make_loss(kind)->label({Shape{1}, DType::f32}).dtype, Shape{4, 1}, 64);
    std::unique_ptr<LossPlan> loss = make_loss(kind)->plan(context(), {.prediction = plan.output(), .label = label});
    const LossPlan* const before = loss.get();
    loss = plan.fuse(context(), std::move(loss));
    return loss.get() != before;
  };
  EXPECT_TRUE(leaves(kRectified, "mse"));
  EXPECT_TRUE(leaves(kBent, "hinge"));
  EXPECT_FALSE(leaves({{"dense", dense_units(8, "relu")}, {"dense", dense_units(1, "sigmoid")}}, "mse"));
  EXPECT_FALSE(leaves({{"dense", dense_units(1)}}, "mse")) << "where a field lies is known only in each call";
  EXPECT_FALSE(leaves({{"dense", dense_units(1)}, {"relu", Spec::map()}}, "mse"));
}

}  // namespace
}  // namespace millrace::testing
