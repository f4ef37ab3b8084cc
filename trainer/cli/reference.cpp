#include "millrace/trainer/cli/reference.h"

#include <fmt/format.h>

#include <algorithm>

namespace millrace::cli {

namespace {

std::string fallback(const OptionInfo& option) {
  if (option.required) return "required";
  return option.default_value.empty() ? "absent" : option.default_value;
}

std::string plural(const std::string& sort) { return sort == "loss" ? "losses" : sort + "s"; }

std::string kind_text(const KindReference& kind) {
  std::string out = fmt::format("{}\n  {}\n", kind.kind, kind.doc);
  size_t name = 0, type = 0, value = 0;
  for (const OptionInfo& option : kind.options) {
    name = std::max(name, option.name.size());
    type = std::max(type, option.type.size());
    value = std::max(value, fallback(option).size());
  }
  for (const OptionInfo& option : kind.options) {
    out += fmt::format("    {:<{}}  {:<{}}  {:<{}}  {}\n", option.name, name, option.type, type, fallback(option),
                       value, option.doc);
  }
  return out;
}

}  // namespace

std::string reference_text(std::span<const KindReference> kinds) {
  std::string out;
  const bool headings = !kinds.empty() && kinds.front().sort != kinds.back().sort;
  for (size_t i = 0; i < kinds.size(); ++i) {
    if (i > 0) out += '\n';
    if (headings && (i == 0 || kinds[i].sort != kinds[i - 1].sort)) out += plural(kinds[i].sort) + ":\n\n";
    out += kind_text(kinds[i]);
  }
  return out;
}

}  // namespace millrace::cli
