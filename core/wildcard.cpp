#include "millrace/core/wildcard.h"

#include <cstddef>

namespace millrace {

bool wildcard_matches(std::string_view pattern, std::string_view name) {
  // After a mismatch the last `*` takes one byte more; earlier ones need no other try.
  size_t p = 0, n = 0, star = std::string_view::npos, star_name = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_name = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
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
