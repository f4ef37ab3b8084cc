// A batch as one line of JSON: {"v":1,"batch":0,"size":2,"fields":{"label":[[1],[0]]},"rows":["a.csv:1","a.csv:7"]}.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "millrace/cli/text/json_text.h"
#include "millrace/input/rows/row_block.h"

namespace millrace::cli {

// Replaces what `json` held. `places` says where each row came from.
void write_batch(JsonText& json, int64_t index, const RowBlock& batch, const std::vector<std::string>& places);

}  // namespace millrace::cli
