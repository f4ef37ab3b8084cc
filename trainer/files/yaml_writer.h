// Writes a Spec as YAML that reads back to an equal one: flow style for what fits on a line, else block style.
//
// "Equal" means the same structure, keys and texts. A text is quoted if it would otherwise be read as a number, true,
// false or null.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "millrace/core/spec.h"

namespace millrace {

// Comments on values, by the value's path: "input[2].decode_csv.missing". One line each, without control characters.
using YamlComments = std::map<std::string, std::string, std::less<>>;

// The document, with a newline at its end. Throws ConfigError for a text that YAML cannot hold here: NUL characters,
// bytes that are not UTF-8, keys longer than parse_yaml() accepts.
std::string to_yaml(const Spec& spec, const YamlComments& comments = {});

// Whether unquoted `text` could be read as something other than a text.
bool looks_typed(std::string_view text);

}  // namespace millrace
