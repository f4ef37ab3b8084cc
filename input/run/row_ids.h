// Row ids in a State: a buffer saves the ids of the rows that it holds, to fetch these rows again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "millrace/input/op.h"
#include "millrace/input/rows/row_block.h"

namespace millrace {

// The bytes of one id in a state.
inline constexpr size_t kSavedIdBytes = 7 * sizeof(uint64_t);

void save_ids(State& state, std::string_view key, std::span<const RowId> ids);
// Throws DataError if `key` is absent or does not hold ids.
std::vector<RowId> load_ids(const State& state, std::string_view key);

// The keys under which ops save the rows that they fetch again.
inline constexpr std::string_view kHeldRows = "rows", kTakenRows = "taken";
// Calls body(id) for each of these rows in the state of an op.
void for_each_saved_id(const State& state, const std::function<void(const RowId&)>& body);

}  // namespace millrace
