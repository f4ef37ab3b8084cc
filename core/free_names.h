// FreeNames: names for what has none: "dense", then "dense_2", "dense_3" and so on, as far as they are free.
//
// A value; one thread uses it at a time.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "millrace/core/text.h"

namespace millrace {

// An error text if a name of an op or a layer is too long for tables, messages and model files; else empty.
inline std::string name_too_long(std::string_view name) {
  constexpr size_t kMost = 256;
  if (name.size() <= kMost) return {};
  return cat("expected a name of at most ", kMost, " bytes, got one of ", name.size());
}

class FreeNames {
 public:
  // Takes the name; false if it was taken before.
  bool take(std::string_view name) { return taken_.emplace(name).second; }
  // Takes `base`, or the first of base_2, base_3, .. that is free.
  std::string give(const std::string& base) {
    if (take(base)) return base;
    // Names are never given back, so the search goes on where the last one ended: thousands of names take no longer.
    for (int& number = next_.try_emplace(base, 2).first->second;;) {
      if (std::string name = cat(base, '_', number++); take(name)) return name;
    }
  }

 private:
  std::set<std::string> taken_;
  std::map<std::string, int> next_;  // by base: the first number that was not tried
};

}  // namespace millrace
