// Models that are allowed but unlikely to be meant.
#pragma once

#include <string>
#include <vector>

#include "millrace/core/spec.h"

namespace millrace {

// What is odd about the model of a resolved configuration (Config::resolved), for people to read.
std::vector<std::string> model_warnings(const Spec& resolved);

}  // namespace millrace
