#include "millrace/trainer/field_input.h"

#include <gtest/gtest.h>

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
  FieldInput input(Device::cpu(), field, DType::f32, 4);
  const ConstTensorView view = input.load(context_, block.view(0));
  EXPECT_EQ(view.data(), static_cast<const void*>(block.at(0, 0)));
  EXPECT_EQ(view.shape(), (Shape{4, 3}));
  EXPECT_EQ(view.row_bytes(), 64u);
  EXPECT_EQ(input.bytes(), 0u);
}

TEST_F(FieldInputTest, ConvertsIntegersAndWholeNumbers) {
  const FieldSpec field = {"label", DType::f32, {1}};
  RowBlock block = block_of(field, 3);
  *block.row<float>(0, 0) = 2.0f;
  *block.row<float>(0, 1) = -7.0f;
  *block.row<float>(0, 2) = 2147483520.0f;
  FieldInput input(Device::cpu(), field, DType::i32, 3);
  ConstTensorView view = input.load(context_, block.view(0));
  EXPECT_EQ(view.dtype(), DType::i32);
  EXPECT_EQ(view.as<int32_t>()[0], 2);
  EXPECT_EQ(view.as<int32_t>()[view.stride()], -7);
  EXPECT_EQ(view.as<int32_t>()[2 * view.stride()], 2147483520);

  const FieldSpec integers = {"x", DType::i32, {2}};
  RowBlock other = block_of(integers, 1);
  other.row<int32_t>(0, 0)[0] = 5;
  other.row<int32_t>(0, 0)[1] = -6;
  FieldInput floats(Device::cpu(), integers, DType::f32, 1);
  view = floats.load(context_, other.view(0));
  EXPECT_EQ(view.as<float>()[0], 5.0f);
  EXPECT_EQ(view.as<float>()[1], -6.0f);
}

TEST_F(FieldInputTest, RefusesWhatIsNoWholeNumberAndNamesTheRow) {
  const FieldSpec field = {"label", DType::f32, {1}};
  for (const float bad : {0.5f, 2147483648.0f, -2147483904.0f, std::numeric_limits<float>::quiet_NaN(),
                          std::numeric_limits<float>::infinity()}) {
    RowBlock block = block_of(field, 3);
    *block.row<float>(0, 0) = 1;
    *block.row<float>(0, 1) = bad;
    *block.row<float>(0, 2) = bad;
    FieldInput input(Device::cpu(), field, DType::i32, 3);
    try {
      input.load(context_, block.view(0));
      FAIL() << bad;
    } catch (const DataError& error) {
      EXPECT_EQ(input.error_row(), 1);
      EXPECT_NE(error.message().find("the field label holds "), std::string::npos) << error.what();
      EXPECT_NE(error.message().find("int32"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace millrace
