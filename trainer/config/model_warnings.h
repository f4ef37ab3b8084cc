// Models that are allowed but unlikely to be meant.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "millrace/core/spec.h"
#include "millrace/input/rows/row_block.h"
#include "millrace/layers/model/model.h"

namespace millrace {

// What is odd about the model of a resolved configuration (Config::resolved), which has these parameters, for people to
// read.
std::vector<std::string> model_warnings(const Spec& resolved, std::span<const Parameter> parameters);

// What is odd about fields of the rows that text is decoded into, though neither `readers` (the fields that model and
// loss read) nor an op of the resolved list `input` names them; empty when nothing is.
std::string warning_of_unread_fields(const Spec& input, const RowSpec& rows, const std::vector<std::string>& readers);

}  // namespace millrace
