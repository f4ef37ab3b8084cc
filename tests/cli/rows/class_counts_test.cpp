#include "millrace/cli/rows/class_counts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

namespace millrace::cli {
namespace {

template <class T>
RowBlock block_of(DType dtype, const std::vector<T>& labels) {
  auto spec = std::make_shared<RowSpec>();
  spec->fields.push_back({"y", dtype, Shape{1}});
  RowBlock out;
  out.configure(std::move(spec), static_cast<int64_t>(labels.size()));
  out.resize(static_cast<int64_t>(labels.size()));
  for (size_t i = 0; i < labels.size(); ++i) *out.row<T>(0, static_cast<int64_t>(i)) = labels[i];
  return out;
}

TEST(ClassCounts, GivesTheShareOfTheCommonestClassOfAllBatches) {
  ClassCounts counts(PredictionKind::one_of_many, "y");
  EXPECT_FALSE(counts.commonest());
  counts.add(block_of<int32_t>(DType::i32, {0, 2, 2, 1}));
  counts.add(block_of<int32_t>(DType::i32, {2, 2, 1, 0}));
  EXPECT_EQ(counts.commonest(), 0.5);
}

TEST(ClassCounts, YesIsAboveOneHalf) {
  ClassCounts counts(PredictionKind::yes_or_no, "y");
  counts.add(block_of<float>(DType::f32, {0.0F, 0.5F, 0.25F, 1.0F}));
  EXPECT_EQ(counts.commonest(), 0.75);
}

TEST(ClassCounts, LabelsMayBeOfEveryType) {
  for (const PredictionKind kind : {PredictionKind::yes_or_no, PredictionKind::one_of_many}) {
    ClassCounts doubles(kind, "y"), bytes(kind, "y");
    doubles.add(block_of<double>(DType::f64, {0.0, 1.0, 1.0, 1.0, std::nan("")}));
    bytes.add(block_of<uint8_t>(DType::u8, {0, 1, 1, 1}));
    EXPECT_EQ(doubles.commonest(), 0.75);
    EXPECT_EQ(bytes.commonest(), 0.75);
  }
}

TEST(ClassCounts, AmountsAndSeveralClassesOfARowAreNotCounted) {
  for (const PredictionKind kind : {PredictionKind::values, PredictionKind::each_yes_or_no}) {
    ClassCounts counts(kind, "y");
    counts.add(block_of<float>(DType::f32, {1.0F}));
    EXPECT_FALSE(counts.commonest());
  }
}

}  // namespace
}  // namespace millrace::cli
