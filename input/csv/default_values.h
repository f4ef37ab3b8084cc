// DefaultValues: what missing values of a field become, as the option `default` of the field says.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "millrace/core/spec.h"
#include "millrace/input/csv/time_format.h"
#include "millrace/input/rows/row_block.h"

namespace millrace {

// The values that missing ones become: numbers of the field's type, or texts. There is one for each column; a ragged
// field has any number of them.
struct DefaultValues {
  bool given = false;
  std::vector<std::byte> numbers = {};
  std::vector<std::string> texts = {};
};

struct DefaultValuesArgs {
  const Spec& spec;  // one value for all columns, or a list with one for each; for a ragged field its values
  const FieldSpec& field;
  size_t columns = 0;
  const TimeFormat* time = nullptr;  // how the field's texts write times, if they do; its defaults are written alike
  bool allow_nonfinite = true;
};

// No value is given if the spec is null. Throws ConfigError for what is not a value of the field.
DefaultValues read_default_values(const DefaultValuesArgs& args);

}  // namespace millrace
