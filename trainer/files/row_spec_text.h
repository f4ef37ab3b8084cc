// What the rows of a training look like, as a text in its model file.
#pragma once

#include <string>
#include <string_view>

#include "millrace/input/rows/row_block.h"

namespace millrace {

// A YAML list: "- {name: features, type: float32, shape: [4]}". Throws ConfigError for a name that is not UTF-8.
std::string row_spec_text(const RowSpec& rows);

// What row_spec_text() wrote. The text may come from anywhere. Throws ConfigError placed in `name`.
RowSpec read_row_spec(std::string_view text, const std::string& name);

}  // namespace millrace
