#include "millrace/cli/rows/class_counts.h"

#include <algorithm>
#include <cmath>

namespace millrace::cli {

namespace {

double number_of(const RowBlock& batch, size_t field, int64_t row) {
  switch (batch.spec().fields[field].dtype) {
    case DType::f32: return static_cast<double>(*batch.row<float>(field, row));
    case DType::f64: return *batch.row<double>(field, row);
    case DType::i32: return static_cast<double>(*batch.row<int32_t>(field, row));
    case DType::i64: return static_cast<double>(*batch.row<int64_t>(field, row));
    case DType::u8: return *batch.row<uint8_t>(field, row);
  }
  return 0;
}

}  // namespace

void ClassCounts::add(const RowBlock& batch) {
  const int field = batch.spec().find(label_);
  const bool classes = kind_ == PredictionKind::yes_or_no || kind_ == PredictionKind::one_of_many;
  if (!classes || field < 0) return;
  for (int64_t row = 0; row < batch.size(); ++row) {
    const double number = number_of(batch, static_cast<size_t>(field), row);
    if (!std::isfinite(number)) continue;  // refused by the loss
    ++counts_[kind_ == PredictionKind::yes_or_no ? (number > 0.5 ? 1 : 0) : static_cast<int64_t>(number)];
    ++rows_;
  }
}

std::optional<double> ClassCounts::commonest() const {
  const auto most = std::max_element(counts_.begin(), counts_.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == counts_.end()) return {};
  return static_cast<double>(most->second) / static_cast<double>(rows_);
}

}  // namespace millrace::cli
