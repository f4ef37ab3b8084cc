#include "millrace/trainer/step/step_inputs.h"

#include <gtest/gtest.h>

#include "millrace/core/errors.h"
#include "millrace/layers/catalog.h"

namespace millrace {
namespace {

// dense(1) on two features; rows of a label, features and a weight.
class StepInputsTest : public ::testing::Test {
 protected:
  StepInputsTest() : model_(make_model()) {
    loss_ = catalog_.losses.make({"sigmoid_cross_entropy", Spec::map()}, Spec::map());
    batch_.configure(rows_, 2);
    batch_.resize(2);
    for (int row = 0; row < 2; ++row) {
      *batch_.row<int64_t>(0, row) = row;
      batch_.row<float>(1, row)[0] = static_cast<float>(10 * row + 1);
      batch_.row<float>(1, row)[1] = static_cast<float>(10 * row + 2);
      *batch_.row<float>(2, row) = static_cast<float>(row) + 0.5F;
    }
  }

  Model make_model() {
    const Spec units = Spec::map().set("units", 1);
    std::vector<LayerNode> layers(1);
    layers[0].kind = "dense";
    layers[0].layer = catalog_.layers.make({"dense", units}, units);
    return Model::build({.layers = std::move(layers), .inputs = {{"features", {Shape{2}, DType::f32}}}}, context_);
  }
  StepFieldsArgs args() const {
    return {.model = model_, .rows = rows_, .loss = loss_.get(), .label = "label", .weight = "weight"};
  }

  LayerCatalog catalog_ = LayerCatalog::builtin();
  Executor executor_{1};
  Context context_{Device::cpu(), executor_};
  RowSpec rows_{{{"label", DType::i64, {1}}, {"features", DType::f32, {2}}, {"weight", DType::f32, {1}}}};
  Model model_;
  std::unique_ptr<Loss> loss_;
  RowBlock batch_;
};

TEST_F(StepInputsTest, GivesEachFieldAsItIsRead) {
  const StepFields fields(args());
  EXPECT_TRUE(fields.weighted());
  EXPECT_EQ(fields.label(), (TensorSpec{Shape{1}, DType::f32}));
  StepInputs inputs(fields, Device::cpu(), 2);
  ASSERT_EQ(inputs.model_shapes().size(), 1u);
  EXPECT_EQ(inputs.model_shapes()[0].spec(), (TensorSpec{Shape{2, 2}, DType::f32}));
  EXPECT_EQ(inputs.label_shape().spec(), (TensorSpec{Shape{2, 1}, DType::f32}));
  inputs.load(context_, batch_);
  ASSERT_EQ(inputs.model().size(), 1u);
  EXPECT_EQ(inputs.model()[0].data(), batch_.at(1, 0)) << "nothing is copied without need";
  EXPECT_EQ(inputs.label().as<float>()[inputs.label().stride()], 1.0F) << "converted";
  EXPECT_EQ(inputs.weight().as<float>()[0], 0.5F);
  EXPECT_GT(inputs.bytes(), 0u);
  EXPECT_EQ(inputs.error_row(), -1);
}

TEST_F(StepInputsTest, NeedsNoLabelWithoutALoss) {
  const RowSpec features{{{"features", DType::f32, {2}}}};
  const StepFields fields({.model = model_, .rows = features});
  EXPECT_FALSE(fields.weighted());
  StepInputs inputs(fields, Device::cpu(), 3);
  EXPECT_FALSE(inputs.label_shape());
  RowBlock rows;
  rows.configure(features, 3);
  rows.resize(3);
  inputs.load(context_, rows);
  EXPECT_EQ(inputs.model()[0].data(), rows.at(0, 0));
  EXPECT_FALSE(inputs.label());
  EXPECT_FALSE(inputs.weight());
  EXPECT_EQ(inputs.bytes(), 0u);
}

TEST_F(StepInputsTest, NamesTheRowThatMakesNoSense) {
  const StepFields fields(args());
  StepInputs inputs(fields, Device::cpu(), 2);
  *batch_.row<int64_t>(0, 1) = 7;
  try {
    inputs.load(context_, batch_);
    FAIL();
  } catch (const DataError& error) {
    EXPECT_EQ(error.message(), "the field label holds 7, expected at least 0 and at most 1");
  }
  EXPECT_EQ(inputs.error_row(), 1);
  *batch_.row<int64_t>(0, 1) = 1;
  inputs.load(context_, batch_);
  EXPECT_EQ(inputs.error_row(), -1);
}

TEST_F(StepInputsTest, RefusesFieldsThatAreNotThere) {
  StepFieldsArgs wrong = args();
  wrong.label = "lable";
  try {
    const StepFields fields(wrong);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "the loss reads the field \"lable\", but the input gives label: int64 (1), features: float32 (2), "
                 "weight: float32 (1); did you mean label?");
  }
  StepFieldsArgs several = args();
  several.weight = "features";
  EXPECT_THROW(StepFields{several}, ShapeError);
}

TEST_F(StepInputsTest, FieldsWhoseSizeVariesAreForNoStep) {
  RowSpec rows = {{{"name", DType::u8, Shape({1})}, {"tags", DType::i32, Shape({1})}, {"x", DType::f32, Shape({1})}}};
  rows.fields[0].text = true;
  rows.fields[1].split = ' ';
  const std::vector<NamedSpec> specs = named_specs(rows);
  EXPECT_EQ(specs[0].unfit, "which is string (1): a step reads numbers");
  EXPECT_EQ(specs[1].unfit, "which is int32 (ragged): a step reads the same number of values from every row");
  EXPECT_EQ(specs[1].hint, "put pad: {fields: tags, length: ..} after the batch");
  EXPECT_TRUE(specs[2].unfit.empty());
  StepFieldsArgs wrong = args();
  RowSpec with_text = wrong.rows;
  with_text.fields[static_cast<size_t>(with_text.find("label"))].text = true;
  const StepFieldsArgs args_with_text = {
      .model = wrong.model, .rows = with_text, .loss = wrong.loss, .label = wrong.label};
  try {
    const StepFields fields(args_with_text);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(), "the loss reads the field label, which is string (1): a step reads numbers");
  }
}

}  // namespace
}  // namespace millrace
