#include "millrace/trainer/step/field_input.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "millrace/core/errors.h"

namespace millrace {
namespace {

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
  FieldInput input({.device = Device::cpu(), .field = field, .dtype = DType::f32, .rows = 4});
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
  FieldInput input({.device = Device::cpu(), .field = field, .dtype = DType::f32, .rows = 2, .keeps = true});
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
  FieldInput input({.device = Device::cpu(), .field = field, .dtype = DType::i32, .rows = 3});
  ConstTensorView view = input.load(context_, block.view(0));
  EXPECT_EQ(view.dtype(), DType::i32);
  EXPECT_EQ(view.as<int32_t>()[0], 2);
  EXPECT_EQ(view.as<int32_t>()[view.stride()], -7);
  EXPECT_EQ(view.as<int32_t>()[2 * view.stride()], 2147483520);

  const FieldSpec integers = {"x", DType::i32, {2}};
  RowBlock other = block_of(integers, 1);
  other.row<int32_t>(0, 0)[0] = 5;
  other.row<int32_t>(0, 0)[1] = -6;
  FieldInput floats({.device = Device::cpu(), .field = integers, .dtype = DType::f32, .rows = 1});
  view = floats.load(context_, other.view(0));
  EXPECT_EQ(view.as<float>()[0], 5.0f);
  EXPECT_EQ(view.as<float>()[1], -6.0f);
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
  FieldInput input({.device = Device::cpu(), .field = field, .dtype = dtype, .rows = rows, .range = range});
  try {
    input.load(context, block.view(0));
  } catch (const DataError& error) {
    return {error.message(), error.hint(), input.error_row()};
  }
  return {"", "", input.error_row()};
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
  const ValueRange weights{.min = 0, .max = infinity, .hint = ""};
  EXPECT_EQ(refusal_of<double>(context_, {0, 1e30}, DType::f32, weights).row, -1);
  const std::pair<double, std::string> cases[] = {
      {-0.25, "-0.25"}, {std::nan(""), "nan"}, {infinity, "inf"}, {1e300, "1e+300"}};  // the last one as float32
  for (const auto& [bad, text] : cases) {
    EXPECT_EQ(refusal_of<double>(context_, {1, bad}, DType::f32, weights).message,
              "the field label holds " + text + ", expected at least 0");
  }
}

}  // namespace
}  // namespace millrace
