// Where a socket is bound.
#pragma once

#include <optional>
#include <string>

namespace millrace::cli {

// "127.0.0.1:8080", "[::1]:8080". None unless it is a socket of TCP, or if the system does not tell.
std::optional<std::string> tcp_address(int descriptor);

}  // namespace millrace::cli
