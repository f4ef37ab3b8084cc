#include "millrace/trainer/step/nonfinite.h"

#include <gtest/gtest.h>

#include <limits>

#include "millrace/core/text.h"

namespace millrace {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Rows of two features, a label and a field that the step does not read.
class NonfiniteTest : public ::testing::Test {
 protected:
  NonfiniteTest() {
    const RowSpec rows{{{"features", DType::f32, {2}}, {"label", DType::i64, {1}}, {"other", DType::f64, {1}}}};
    batch_.configure(rows, 4);
    batch_.resize(4);
    for (int row = 0; row < 4; ++row) {
      set(row, 1, -2, 1);
      *batch_.row<double>(2, row) = 1e300;
      batch_.id(row) = {.line = static_cast<uint64_t>(row)};
    }
  }
  void set(int row, float a, float b, int64_t label) {
    batch_.row<float>(0, row)[0] = a;
    batch_.row<float>(0, row)[1] = b;
    *batch_.row<int64_t>(1, row) = label;
  }
  std::string error(double loss) const {
    return nonfinite_error({.step = 12,
                            .loss = loss,
                            .batch = &batch_,
                            .fields = fields_,
                            .place =
                                [](const RowId& id) {
                                  return Place{"a.csv", static_cast<int64_t>(id.line) + 1, 0};
                                }})
        .what();
  }

  RowBlock batch_;
  std::vector<std::string> fields_ = {"features", "label"};
};

TEST_F(NonfiniteTest, BlamesTheLearningRateWhereNoRowStandsOut) {
  EXPECT_EQ(
      error(std::numeric_limits<double>::infinity()),
      "step 12: the loss is inf; lower the learning rate or set train.clip_norm; no row of the batch holds a value "
      "beyond 1e6");
  EXPECT_EQ(error(0.5),
            "step 12: the gradient or its square is not finite; lower the learning rate or set train.clip_norm; no row "
            "of the batch holds a value beyond 1e6");
}

TEST_F(NonfiniteTest, SaysNothingOfRowsThatAreGone) {
  const DataError gone = nonfinite_error({.step = 3, .loss = 1});
  EXPECT_EQ(gone.place().text(), "");
  EXPECT_STREQ(gone.what(),
               "step 3: the gradient or its square is not finite; lower the learning rate or set train.clip_norm");
}

TEST_F(NonfiniteTest, NamesAState) {
  const NonfiniteArgs args{.step = 3, .loss = 1, .state = "batch_norm.variance"};
  EXPECT_STREQ(nonfinite_error(args).what(),
               "step 3: the state batch_norm.variance is not finite; normalize the values that this layer reads, or "
               "lower the learning rate");
}

TEST_F(NonfiniteTest, NamesTheOptimizer) {
  const NonfiniteArgs args{.step = 3, .loss = 1, .optimizer = true};
  EXPECT_STREQ(nonfinite_error(args).what(),
               "step 3: the optimizer's state is not finite; some parameters may never change again: normalize large "
               "values, or set train.clip_norm");
}

TEST_F(NonfiniteTest, NamesARowWithAValueThatIsNotFinite) {
  set(2, 5e6F, -kNan, 1);
  EXPECT_EQ(error(-kNan),
            "a.csv:3: step 12: the loss is nan; features[1] of this row is nan; leave such rows out: decode_csv: "
            "{allow_nonfinite: false, on_bad_row: skip}");
}

TEST_F(NonfiniteTest, NamesARowWithALargeValueAndCountsTheOthers) {
  set(1, -2e6F, 3e8F, 1);
  set(3, 1, 1, 2'000'000);
  EXPECT_EQ(error(kNan),
            "a.csv:2: step 12: the loss is nan; features[0] of this row is -2e+06, and 1 more row of the batch "
            "holds such values; normalize values of this size, or lower the learning rate");
}

TEST_F(NonfiniteTest, BlamesLargeValuesOnlyWhereAllAreFinite) {
  set(0, 5e6F, 1, 0);
  set(1, kInfinity, 1, 0);
  set(2, 7e6F, 1, 0);
  set(3, 1, kNan, 0);
  EXPECT_EQ(
      error(1),
      "a.csv:2: step 12: the gradient or its square is not finite; features[0] of this row is inf, and 1 more row "
      "of the batch holds such values; leave such rows out: decode_csv: {allow_nonfinite: false, on_bad_row: skip}");
}

TEST_F(NonfiniteTest, NamesAFieldOfOneColumnWithoutIndex) {
  set(0, 1, 1, -3'000'000);
  EXPECT_NE(error(1).find("; label of this row is -3000000"), std::string::npos) << error(1);
}

}  // namespace
}  // namespace millrace
