#include "millrace/trainer/step/step_inputs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <string>

#include "millrace/core/errors.h"
#include "millrace/layers/catalog.h"
#include "tests/support/cuda.h"

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
}

// A loss that wants its label as a type that does not exist.
class UntypedLoss final : public Loss {
 public:
  void check(const TensorSpec&, const TensorSpec&) const override {}
  LabelSpec label(const TensorSpec&) const override { return {.dtype = static_cast<DType>(99)}; }
  std::unique_ptr<LossPlan> plan(Context&, const LossPlanArgs&) const override { return nullptr; }
};

TEST_F(StepInputsTest, RefusesALabelOfATypeThatDoesNotExist) {
  UntypedLoss loss;
  loss.set_origin({.who = "loss untyped", .place = {"a.yaml", 3, 5}});
  StepFieldsArgs odd = args();
  odd.loss = &loss;
  try {
    const StepFields fields(odd);
    FAIL();
  } catch (const InternalError& error) {
    EXPECT_STREQ(error.what(), "a.yaml:3:5: there is no DType of the number 99");
  }
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
  } catch (const RowError& error) {
    EXPECT_EQ(error.message(), "the field label holds 7, expected at least 0 and at most 1");
    EXPECT_EQ(error.row, 1);
  }
  *batch_.row<int64_t>(0, 1) = 1;
  inputs.load(context_, batch_);
}

// What makes no sense reaches nobody: a loss or a metric may take a label for an index.
TEST_F(StepInputsTest, ReplacesALabelThatMakesNoSenseInARowOfWeightZero) {
  for (const bool keeps : {false, true}) {
    StepFieldsArgs from = args();
    from.keeps_label = keeps;
    const StepFields fields(from);
    StepInputs inputs(fields, Device::cpu(), 2);
    *batch_.row<int64_t>(0, 0) = -3;
    *batch_.row<int64_t>(0, 1) = 1;
    *batch_.row<float>(2, 0) = 0;
    inputs.load(context_, batch_);
    EXPECT_EQ(inputs.label().as<float>()[0], 0);
    EXPECT_EQ(inputs.label().as<float>()[inputs.label().stride()], 1) << "of a row that counts";
    *batch_.row<float>(2, 0) = 1e-20F;
    EXPECT_THROW(inputs.load(context_, batch_), RowError);
    EXPECT_EQ(*batch_.row<int64_t>(0, 0), -3) << "the batch stays as it is";
  }
}

TEST_F(StepInputsTest, RefusesWeightsAtTheEndsOfFloat) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const RowSpec rows{{{"label", DType::i64, {1}}, {"features", DType::f32, {2}}, {"weight", dtype, {1}}}};
    RowBlock batch;
    batch.configure(rows, 2);
    batch.resize(2);
    StepFieldsArgs from = args();
    const StepFields fields({.model = model_, .rows = rows, .loss = from.loss, .label = "label", .weight = "weight"});
    StepInputs inputs(fields, Device::cpu(), 2);
    for (int row = 0; row < 2; ++row) {
      *batch.row<int64_t>(0, row) = row;
      std::fill_n(batch.row<float>(1, row), 2, 1.0F);
    }
    const auto error_of = [&](double weight) -> std::string {
      for (int row = 0; row < 2; ++row) {
        const double value = row == 0 ? 1 : weight;
        if (dtype == DType::f32) {
          *batch.row<float>(2, row) = static_cast<float>(value);
        } else {
          *batch.row<double>(2, row) = value;
        }
      }
      try {
        inputs.load(context_, batch);
      } catch (const RowError& error) {
        EXPECT_EQ(error.row, 1);
        EXPECT_EQ(error.hint(), "only the ratios of row weights matter; a row of weight 0 does not count");
        return error.message();
      }
      return "no error";
    };
    for (const double fine : {0.0, -0.0, 1e-20, 1.0, 1e20}) EXPECT_EQ(error_of(fine), "no error") << fine;
    const double infinity = std::numeric_limits<double>::infinity();
    for (const double bad : {-1.0, -1e-20, 5e-21, 1e-38, 2e20, 1e38, infinity, -infinity, std::nan("")}) {
      EXPECT_TRUE(error_of(bad).ends_with(", expected 0 or a number from 1e-20 to 1e+20")) << bad << error_of(bad);
    }
    EXPECT_EQ(error_of(infinity), "the field weight holds inf, expected 0 or a number from 1e-20 to 1e+20");
    // A float64 that is 0 as a float32 is not 0.
    EXPECT_EQ(error_of(dtype == DType::f64 ? 1e-300 : 0) == "no error", dtype == DType::f32);
  }
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

RowBlock block_of(const FieldSpec& field, int64_t rows) {
  RowBlock block;
  block.configure({{field}}, rows);
  block.resize(rows);
  return block;
}

class FieldInputTest : public ::testing::Test {
 protected:
  Executor executor_{1};
  Context context_{Device::cpu(), executor_};
};

TEST_F(FieldInputTest, OnTheCpuTheBatchItselfIsRead) {
  const FieldSpec field = {"x", DType::f32, {3}};
  RowBlock block = block_of(field, 4);
  FieldInput input({.field = field, .dtype = DType::f32}, Device::cpu(), 4);
  const ConstTensorView view = input.load(context_, block.view(0));
  EXPECT_EQ(view.data(), static_cast<const void*>(block.at(0, 0)));
  EXPECT_EQ(view.shape(), (Shape{4, 3}));
  EXPECT_EQ(view.row_bytes(), 64u);
  EXPECT_EQ(input.bytes(), 0u);
}

TEST_F(FieldInputTest, WhatIsKeptOutlivesTheBatch) {
  const FieldSpec field = {"x", DType::f32, {2}};
  RowBlock block = block_of(field, 2);
  for (int row = 0; row < 2; ++row) {
    block.row<float>(0, row)[0] = static_cast<float>(row);
    block.row<float>(0, row)[1] = 0.5F;
  }
  FieldInput input({.field = field, .dtype = DType::f32, .keeps = true}, Device::cpu(), 2);
  const ConstTensorView view = input.load(context_, block.view(0));
  for (int row = 0; row < 2; ++row) block.row<float>(0, row)[0] = block.row<float>(0, row)[1] = -9;
  for (int row = 0; row < 2; ++row) {
    EXPECT_EQ(view.as<float>()[row * view.stride()], static_cast<float>(row));
    EXPECT_EQ(view.as<float>()[row * view.stride() + 1], 0.5F);
  }
  EXPECT_EQ(input.bytes(), 2 * view.row_bytes());
}

TEST_F(FieldInputTest, ConvertsIntegersAndWholeNumbers) {
  const FieldSpec field = {"label", DType::f32, {1}};
  RowBlock block = block_of(field, 3);
  *block.row<float>(0, 0) = 2.0f;
  *block.row<float>(0, 1) = -7.0f;
  *block.row<float>(0, 2) = 2147483520.0f;
  FieldInput input({.field = field, .dtype = DType::i32}, Device::cpu(), 3);
  ConstTensorView view = input.load(context_, block.view(0));
  EXPECT_EQ(view.dtype(), DType::i32);
  EXPECT_EQ(view.as<int32_t>()[0], 2);
  EXPECT_EQ(view.as<int32_t>()[view.stride()], -7);
  EXPECT_EQ(view.as<int32_t>()[2 * view.stride()], 2147483520);

  const FieldSpec integers = {"x", DType::i32, {2}};
  RowBlock other = block_of(integers, 1);
  other.row<int32_t>(0, 0)[0] = 5;
  other.row<int32_t>(0, 0)[1] = -6;
  FieldInput floats({.field = integers, .dtype = DType::f32}, Device::cpu(), 1);
  view = floats.load(context_, other.view(0));
  EXPECT_EQ(view.as<float>()[0], 5.0f);
  EXPECT_EQ(view.as<float>()[1], -6.0f);
}

// Bytes that count on along a row, and from row to row.
void fill_bytes(RowBlock& block) {
  const int64_t columns = block.spec().fields[0].shape.elements();
  for (int64_t row = 0; row < block.size(); ++row) {
    for (int64_t i = 0; i < columns; ++i) block.row<uint8_t>(0, row)[i] = static_cast<uint8_t>(7 * row + i);
  }
}

void expect_bytes(const ConstTensorView& view, const float* values) {
  for (int64_t row = 0; row < view.rows(); ++row) {
    for (int64_t i = 0; i < view.columns(); ++i) {
      ASSERT_EQ(values[row * view.stride() + i], static_cast<float>((7 * row + i) % 256)) << row << ' ' << i;
    }
  }
}

TEST_F(FieldInputTest, ReadsBytesAsNumbers) {
  for (const int64_t columns : {1, 256, 300}) {
    const FieldSpec field = {"x", DType::u8, {columns}};
    RowBlock block = block_of(field, 5);
    fill_bytes(block);
    EXPECT_EQ(block.spec().row_bytes(), aligned_bytes(static_cast<size_t>(columns))) << "a byte a value";
    for (const bool keeps : {false, true}) {
      FieldInput input({.field = field, .dtype = DType::f32, .keeps = keeps}, Device::cpu(), 5);
      const ConstTensorView view = input.load(context_, block.view(0));
      EXPECT_EQ(view.spec(), (TensorSpec{Shape{5, columns}, DType::f32}));
      expect_bytes(view, view.as<float>());
      EXPECT_EQ(input.on_host(block.view(0)).data(), view.data());
      EXPECT_EQ(input.bytes(), 5 * view.row_bytes());
    }
  }
}

class CudaFieldInput : public test::CudaTest {};

// They are copied as they are, unless a row of them takes as much room as its numbers.
TEST_F(CudaFieldInput, ReadsBytesAsNumbers) {
  for (const int64_t columns : {16, 17, 300}) {
    const FieldSpec field = {"x", DType::u8, {columns}};
    for (const bool pinned : {false, true}) {
      RowBlock block;
      block.configure({{field}}, 5, pinned ? context().device() : Device::cpu());
      block.resize(5);
      fill_bytes(block);
      FieldInput input({.field = field, .dtype = DType::f32}, context().device(), 5);
      const ConstTensorView view = input.load(context(), block.view(0), block.pinned());
      expect_bytes(view, download<float>(view.data(), static_cast<size_t>(5 * view.stride())).data());
      const size_t bytes = 5 * field.row_bytes(), numbers = 5 * view.row_bytes();
      EXPECT_EQ(input.bytes(), numbers + (columns > 16 ? bytes : numbers));
    }
  }
}

// What load() throws about a batch of these values, and about which row.
struct Refusal {
  std::string message, hint;
  int64_t row = -1;
};

template <class T>
Refusal refusal_of(Context& context, const std::vector<T>& values, DType dtype, std::optional<ValueRange> range = {}) {
  const FieldSpec field = {"label", DTypeOf<T>::value, {1}};
  const auto rows = static_cast<int64_t>(values.size());
  RowBlock block = block_of(field, rows);
  for (int64_t row = 0; row < rows; ++row) *block.row<T>(0, row) = values[static_cast<size_t>(row)];
  FieldInput input({.field = field, .dtype = dtype, .range = range}, Device::cpu(), rows);
  try {
    input.load(context, block.view(0));
  } catch (const RowError& error) {
    return {error.message(), error.hint(), error.row};
  }
  return {};
}

TEST_F(FieldInputTest, RefusesWhatIsNoWholeNumberAndNamesTheRow) {
  const std::pair<float, std::string> cases[] = {{0.5f, "0.5"},
                                                 {2147483648.0f, "2147483648"},
                                                 {-2147483904.0f, "-2147483904"},
                                                 {std::numeric_limits<float>::quiet_NaN(), "nan"},
                                                 {std::numeric_limits<float>::infinity(), "inf"}};
  for (const auto& [bad, text] : cases) {
    const Refusal refusal = refusal_of<float>(context_, {1, bad, bad}, DType::i32);
    EXPECT_EQ(refusal.message, "the field label holds " + text + ", expected a whole number of type int32");
    EXPECT_EQ(refusal.hint, "class labels and ids are whole numbers");
    EXPECT_EQ(refusal.row, 1);
  }
}

TEST_F(FieldInputTest, RefusesValuesOutsideTheRange) {
  const ValueRange classes{.min = 0, .max = 9, .hint = "class labels count from 0"};
  EXPECT_EQ(refusal_of<float>(context_, {0, 9, 3}, DType::i32, classes).row, -1);
  EXPECT_EQ(refusal_of<int64_t>(context_, {0, 9, 3}, DType::i64, classes).row, -1);
  for (const Refusal& refusal : {refusal_of<float>(context_, {0, 9, 10, -1}, DType::i32, classes),
                                 refusal_of<int32_t>(context_, {0, 9, 10, -1}, DType::i32, classes),
                                 refusal_of<uint8_t>(context_, {0, 9, 10}, DType::f32, classes)}) {
    EXPECT_EQ(refusal.message, "the field label holds 10, expected at least 0 and at most 9");
    EXPECT_EQ(refusal.hint, "class labels count from 0");
    EXPECT_EQ(refusal.row, 2);
  }
  EXPECT_EQ(refusal_of<int64_t>(context_, {int64_t{1} << 40}, DType::i64, classes).message,
            "the field label holds 1099511627776, expected at least 0 and at most 9");
  // The first row that cannot be used counts, whatever is wrong with it.
  EXPECT_EQ(refusal_of<float>(context_, {0.5f, 10}, DType::i32, classes).row, 0);
  EXPECT_EQ(refusal_of<float>(context_, {10, 0.5f}, DType::i32, classes).row, 0);
}

TEST_F(FieldInputTest, InARowOfWeightZeroEveryValueWillDo) {
  const double infinity = std::numeric_limits<double>::infinity();
  const ValueRange classes{.min = 0, .max = 9}, beyond{.min = 3, .max = 5}, below{.min = -infinity, .max = -2},
      finite{.min = -infinity, .max = infinity};
  const auto replaced = [&](float value, DType dtype, const ValueRange& range) {
    const FieldSpec field = {"label", DType::f32, {1}};
    RowBlock labels = block_of(field, 2), weights = block_of(field, 2);
    *labels.row<float>(0, 0) = *labels.row<float>(0, 1) = value;
    *weights.row<float>(0, 0) = 0;
    FieldInput input({.field = field, .dtype = dtype, .range = range, .weighted = true}, Device::cpu(), 2);
    // Only the first row has the weight 0.
    *weights.row<float>(0, 1) = 1;
    EXPECT_THROW(input.load(context_, labels.view(0), false, weights.view(0)), RowError);
    *weights.row<float>(0, 1) = 0;
    const ConstTensorView view = input.load(context_, labels.view(0), false, weights.view(0));
    return dtype == DType::i32 ? static_cast<double>(view.as<int32_t>()[0]) : static_cast<double>(*view.as<float>());
  };
  for (const float bad : {0.5F, 10.0F, -1.0F, 1e30F, std::nanf("")}) {
    EXPECT_EQ(replaced(bad, DType::i32, classes), 0) << bad;
    EXPECT_EQ(replaced(bad, DType::i32, beyond), 3) << bad;
    EXPECT_EQ(replaced(bad, DType::f32, below), -2) << bad;
  }
  EXPECT_EQ(replaced(std::nanf(""), DType::f32, finite), 0);
}

TEST_F(FieldInputTest, ARangeWithoutBoundsIsForFiniteNumbers) {
  const double infinity = std::numeric_limits<double>::infinity();
  const ValueRange finite{.min = -infinity, .max = infinity, .hint = "drop them"};
  EXPECT_EQ(refusal_of<float>(context_, {0, -1e30F, 1e30F}, DType::f32, finite).row, -1);
  const Refusal refusal = refusal_of<float>(context_, {0, std::nanf("")}, DType::f32, finite);
  EXPECT_EQ(refusal.message, "the field label holds nan, expected a finite number");
  EXPECT_EQ(refusal.hint, "drop them");
  EXPECT_EQ(refusal.row, 1);
}

TEST_F(FieldInputTest, WhatIsNotFiniteLiesInNoRange) {
  const double infinity = std::numeric_limits<double>::infinity();
  const ValueRange positive{.min = 0, .max = infinity, .hint = ""};
  EXPECT_EQ(refusal_of<double>(context_, {0, 1e30}, DType::f32, positive).row, -1);
  const std::pair<double, std::string> cases[] = {
      {-0.25, "-0.25"}, {std::nan(""), "nan"}, {infinity, "inf"}, {1e300, "1e+300"}};  // the last one as float32
  for (const auto& [bad, text] : cases) {
    EXPECT_EQ(refusal_of<double>(context_, {1, bad}, DType::f32, positive).message,
              "the field label holds " + text + ", expected a finite number of at least 0");
  }
}

TEST(RowError, KeepsItsTypeWhenItIsCopied) {
  const std::exception_ptr error = std::make_exception_ptr(RowError(7, "the field x holds nan", "leave it out"));
  try {
    raise_copy(error, {"data.csv", 8, 0});
  } catch (const RowError& copy) {
    EXPECT_EQ(copy.row, 7);
    EXPECT_STREQ(copy.what(), "data.csv:8: the field x holds nan; leave it out");
  }
}

}  // namespace
}  // namespace millrace
