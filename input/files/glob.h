// glob: which paths match a pattern, and whether a name does. It compares bytes, never characters of a locale.
//
//   `*` any bytes, `?` one byte, `[a-c]` `[!a]` `[^a]` one byte of a set: these match no `/`, and no dot at the start
//   of a name. `\x` is x itself.
//
// Stateless and thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace millrace {

// Whether the file name `name` (without `/`) matches `pattern`.
bool glob_matches(std::string_view pattern, std::string_view name);

// The paths of this machine that match, sorted bytewise. A pattern without wildcards gives its path if something is
// there, even a dangling link. Throws IoError for a folder that cannot be read.
std::vector<std::string> glob_paths(std::string_view pattern);

// The names in a folder, sorted, without "." and ".."; empty if there is no such folder. Throws IoError if it cannot be
// read.
std::vector<std::string> list_folder(const std::string& folder);

}  // namespace millrace
