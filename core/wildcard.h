// Whether a name matches a pattern. It compares bytes, never characters of a locale. See also wildcard_matches() of
// text.h.
#pragma once

#include <cstddef>
#include <string_view>

namespace millrace {

// Whether `name` matches a pattern in which `*` stands for any bytes, or none. `element` defines the rest: for the
// element at the beginning of the pattern it gives its length if it matches the byte, otherwise 0.
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

}  // namespace millrace
