// Row ids in a State: what a buffer saves of the rows that it holds, to fetch them again.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "millrace/input/op.h"
#include "millrace/input/rows/row_block.h"

namespace millrace {

void save_ids(State& state, std::string_view key, std::span<const RowId> ids);
// Throws DataError when `key` is absent or holds no ids.
std::vector<RowId> load_ids(const State& state, std::string_view key);

}  // namespace millrace
