// What to say of a step whose loss or gradient is not finite: its rows that look like the cause, and what to do.
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
  double loss = 0;                           // finite: then it is the gradient that is not
  const RowBlock* batch = nullptr;           // null: nothing is known of the rows
  std::span<const std::string> fields = {};  // those that the step reads
  std::function<Place(const RowId&)> place = {};
};

// The error, placed at the first row that holds a value which is not finite or beyond 1e6, where there is one.
DataError nonfinite_error(const NonfiniteArgs& args);

}  // namespace millrace
