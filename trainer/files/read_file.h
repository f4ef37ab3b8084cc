// Reads a small file whole.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace millrace {

// The first `limit` bytes of the file, or all of it when it is shorter. `what` says in messages what the file is for.
// Throws MissingError with the path and the reason; the hint names a file with nearly that name, if there is one.
std::string read_file(const std::string& path, size_t limit, std::string_view what);

}  // namespace millrace
