// YAML: text to Spec, with the place of every value and key. Only yaml.cpp sees yaml-cpp.
//
// A configuration may come from anywhere, so the text is checked before a tree is made of it: at most 1 MiB and 64
// levels, one document, no anchors, aliases or tags, no duplicate keys, no control characters, valid UTF-8 (a byte
// order mark is accepted). Functions only; any thread may call them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "millrace/core/export.h"
#include "millrace/core/spec.h"

namespace millrace {

inline constexpr size_t kMaxYamlBytes = size_t{1} << 20;
inline constexpr size_t kMaxYamlDepth = 64;
inline constexpr size_t kMaxYamlKeyBytes = 256;

// The document in `text`; `name` is the file in its places. Throws ConfigError.
MILLRACE_EXPORT Spec parse_yaml(std::string_view text, std::string name);

// The value of an override: like parse_yaml(), but everything has the place `where`.
MILLRACE_EXPORT Spec parse_yaml_value(std::string_view text, const Place& where);

// The document in a file. Throws MissingError when the file cannot be read, and what parse_yaml() throws.
MILLRACE_EXPORT Spec read_yaml_file(const std::string& path);

}  // namespace millrace
