// What several files of the C interface need of a catalog and of settings.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "millrace/api/c/errors.h"
#include "millrace/c.h"
#include "millrace/core/text.h"
#include "millrace/trainer/config/catalog.h"
#include "millrace/trainer/files/yaml.h"

struct millrace_catalog {
  millrace::Catalog catalog = millrace::Catalog::builtin();
};

namespace millrace::c {

inline Catalog catalog_of(const millrace_catalog* catalog) {
  return catalog != nullptr ? catalog->catalog : Catalog::builtin();
}

// If the text has no name, all of it has one place.
inline Spec config_of(const char* text, const char* name) {
  require(text, "text");
  return name != nullptr ? parse_yaml(text, name) : parse_yaml_value(text, {"config"});
}

inline std::vector<std::string> texts_of(const char* const* settings, size_t count) {
  if (count > 0) require(settings, "settings");
  std::vector<std::string> out;
  for (size_t i = 0; i < count; ++i) {
    require(settings[i], cat("settings[", i, "]"));
    out.emplace_back(settings[i]);
  }
  return out;
}

}  // namespace millrace::c
