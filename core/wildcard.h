// wildcard: whether a name, such as that of a parameter, matches a pattern. Bytes, never characters of a locale.
#pragma once

#include <cstddef>
#include <string_view>

#include "millrace/core/export.h"

namespace millrace {

// Whether a pattern matches `name` in which `*` stands for any bytes, also for none. `element` says what else there is:
// of what begins the rest of the pattern, it gives the length when that matches the byte, else 0.
template <class Element>
bool matches_with_stars(std::string_view pattern, std::string_view name, const Element& element) {
  // After a mismatch the last `*` takes one byte more; earlier ones need no other try.
  size_t p = 0, n = 0, star = std::string_view::npos, star_name = 0;
  while (n < name.size()) {
    const bool more = p < pattern.size();
    if (more && pattern[p] == '*') {
      star = p++;
      star_name = n;
    } else if (const size_t length = more ? element(pattern.substr(p), name[n]) : 0; length > 0) {
      p += length;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++star_name;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

// `*` stands for any bytes, also for none, and `?` for one; everything else for itself.
MILLRACE_EXPORT bool wildcard_matches(std::string_view pattern, std::string_view name);

}  // namespace millrace
