#include "millrace/cli/rows/class_counts.h"

#include <algorithm>
#include <cmath>
#include <concepts>

#include "millrace/cli/rows/field_values.h"

namespace millrace::cli {

void ClassCounts::add(const RowBlock& batch) {
  const int field = batch.spec().find(label_);
  const bool one_class = kind_ == PredictionKind::yes_or_no || kind_ == PredictionKind::one_of_many;
  if (!one_class || field < 0) return;
  const auto count = [this](const auto& label) {
    if constexpr (!std::same_as<decltype(label), const Texts&>) {
      const auto number = static_cast<double>(label.front());
      if (!std::isfinite(number)) return;  // the loss refuses such a label
      ++counts_[kind_ == PredictionKind::yes_or_no ? (number > 0.5 ? 1 : 0) : static_cast<int64_t>(number)];
      ++rows_;
    }
  };
  for (int64_t row = 0; row < batch.size(); ++row) with_values(batch, static_cast<size_t>(field), row, count);
}

std::optional<double> ClassCounts::commonest() const {
  const auto most = std::ranges::max_element(counts_, {}, [](const auto& one) { return one.second; });
  if (most == counts_.end()) return {};
  return static_cast<double>(most->second) / static_cast<double>(rows_);
}

}  // namespace millrace::cli
