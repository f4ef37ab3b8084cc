// Makes the error for a step whose loss, gradient or state is not finite. It names the rows that look like the cause,
// and says what to do.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "millrace/core/errors.h"
#include "millrace/input/rows/row_block.h"

namespace millrace {

struct NonfiniteArgs {
  int64_t step = 0;                          // counted from 1
  double loss = 0;                           // if it is finite, something else is not
  bool optimizer = false;                    // whether it is the optimizer's state
  std::string state = {};                    // such as "batch_norm.variance"; empty: the gradient
  const RowBlock* batch = nullptr;           // null: nothing is known of the rows
  std::span<const std::string> fields = {};  // those that the step reads
  std::function<Place(const RowId&)> place = {};
};

// The error, placed at the first row that holds a value which is not finite, else at the first row with a value beyond
// 1e6; it has no place if there is no such row.
DataError nonfinite_error(const NonfiniteArgs& args);

}  // namespace millrace
