// A configuration to begin with, for `trainer config --example`.
#pragma once

#include <string_view>

namespace millrace::cli {

std::string_view example_config();

}  // namespace millrace::cli
