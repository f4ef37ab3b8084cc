// wildcard: whether a name, such as that of a parameter, matches a pattern. Bytes, never characters of a locale.
#pragma once

#include <string_view>

namespace millrace {

// `*` stands for any bytes, also for none, and `?` for one; everything else for itself.
bool wildcard_matches(std::string_view pattern, std::string_view name);

}  // namespace millrace
