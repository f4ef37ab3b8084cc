// What `trainer speed` found, as text for people and as JSON. Pure functions.
#pragma once

#include <string>

#include "millrace/cli/speed/speed.h"

namespace millrace::cli {

std::string speed_text(const SpeedReport& report);
// One JSON object on one line.
std::string speed_json(const SpeedReport& report);

}  // namespace millrace::cli
