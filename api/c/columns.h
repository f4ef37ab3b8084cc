// The names of the columns that a network's rows came from in the data of its training.
#pragma once

#include <string>
#include <vector>

#include "millrace/core/spec.h"
#include "millrace/input/rows/row_block.h"

namespace millrace::c {

// For each field, the names that the list `input` of a resolved configuration gives to the columns of its values; no
// names if it tells columns by their numbers.
std::vector<std::vector<std::string>> columns_of(const Spec& config, const RowSpec& rows);

}  // namespace millrace::c
