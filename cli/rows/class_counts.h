// ClassCounts: how many rows belong to each class, so that an accuracy can be compared with the share of the commonest
// class. One thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "millrace/cli/rows/prediction_text.h"
#include "millrace/input/rows/row_block.h"

namespace millrace::cli {

class ClassCounts {
 public:
  // The field `label` holds the class of a row: for yes_or_no a number, above 0.5 for yes; for one_of_many the class's
  // number. For other kinds nothing is counted.
  ClassCounts(PredictionKind kind, std::string label) : kind_(kind), label_(std::move(label)) {}

  void add(const RowBlock& batch);
  // The share of the commonest class; none if no row was counted.
  std::optional<double> commonest() const;

 private:
  PredictionKind kind_;
  std::string label_;
  uint64_t rows_ = 0;
  std::map<int64_t, uint64_t> counts_;
};

}  // namespace millrace::cli
