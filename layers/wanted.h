// Wanted: as what a layer reads a field of the batch, or a loss its label. The step converts, and refuses other values
// with the place of their row.
#pragma once

#include <optional>
#include <string_view>

#include "millrace/core/tensor.h"

namespace millrace {

// Which values make sense, both bounds included; NaN and infinities never do.
struct ValueRange {
  double min = 0, max = 0;
  std::string_view hint = {};  // how to mend a value outside; a literal
};

struct Wanted {
  DType dtype = DType::f32;
  std::optional<ValueRange> range = {};  // absent: every value is allowed
};

}  // namespace millrace
