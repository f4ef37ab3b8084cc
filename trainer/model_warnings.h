// Models that are allowed but unlikely to be meant.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "millrace/core/spec.h"
#include "millrace/layers/model/model.h"

namespace millrace {

// What is odd about the model of a resolved configuration (Config::resolved), which has these parameters, for people to
// read.
std::vector<std::string> model_warnings(const Spec& resolved, std::span<const Parameter> parameters);

}  // namespace millrace
