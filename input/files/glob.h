// glob: which paths match a pattern, and whether a name does. Bytes, never characters of a locale.
//
//   `*` any bytes, `?` one byte, `[a-c]` `[!a]` `[^a]` one of a set, `\x` x itself; none of them matches a `/`, nor a
//   dot at the start of a name.
//
// Stateless and thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace millrace {

// Whether the file name `name` (without `/`) matches `pattern`.
bool glob_matches(std::string_view pattern, std::string_view name);

// The paths of this machine that match, sorted bytewise. A pattern without wildcards gives the path when something is
// there, a dangling link too. Throws IoError for a folder that cannot be read.
std::vector<std::string> glob_paths(std::string_view pattern);

// The names in a folder, sorted, without "." and ".."; empty when there is no such folder. Throws IoError when it
// cannot be read.
std::vector<std::string> list_folder(const std::string& folder);

}  // namespace millrace
