// The version of the oneDNN library that is loaded.
#pragma once

#include <string>

namespace millrace {

// "2.6.3".
std::string onednn_version();

}  // namespace millrace
