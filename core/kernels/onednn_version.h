// The version of oneDNN that is loaded.
#pragma once

#include <string>

namespace millrace {

// "oneDNN 2.6.3".
std::string onednn_version();

}  // namespace millrace
