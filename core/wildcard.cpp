#include "millrace/core/wildcard.h"

#include "millrace/core/text.h"

namespace millrace {

bool wildcard_matches(std::string_view pattern, std::string_view name) {
  return matches_with_stars(pattern, name, [](std::string_view rest, char byte) -> size_t {
    return rest[0] == '?' || rest[0] == byte ? 1 : 0;
  });
}

}  // namespace millrace
