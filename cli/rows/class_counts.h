// ClassCounts: how many rows are of each class, so that an accuracy can be compared with that of always saying the
// commonest one. One thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "millrace/cli/rows/prediction_text.h"
#include "millrace/input/rows/row_block.h"

namespace millrace::cli {

class ClassCounts {
 public:
  // Of rows whose field `label` is a class: yes where it is above 0.5, or one of many. Of other predictions nothing is
  // counted.
  ClassCounts(PredictionKind kind, std::string label) : kind_(kind), label_(std::move(label)) {}

  void add(const RowBlock& batch);
  // The share of the commonest class; none where no row was counted.
  std::optional<double> commonest() const;

 private:
  PredictionKind kind_;
  std::string label_;
  uint64_t rows_ = 0;
  std::map<int64_t, uint64_t> counts_;
};

}  // namespace millrace::cli
