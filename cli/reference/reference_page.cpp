#include "millrace/cli/reference/reference_page.h"

#include <algorithm>

#include "millrace/cli/text/text_layout.h"
#include "millrace/core/text.h"
#include "millrace/trainer/config/config.h"

namespace millrace::cli {

namespace {

std::string default_clause(const OptionInfo& option) {
  if (option.required) return "required";
  const std::string value = default_text(option);
  if (!value.empty()) return "default " + value;
  return option.fallback.is_map() ? "optional" : "absent by default";
}

std::string doc_of(const OptionInfo& option) {
  const std::string sort = named_sort(option);
  std::string out = option.doc;
  if (!sort.empty()) out += cat("; `trainer ", sort == "input ops" ? "ops" : "layers", "` lists the ", sort);
  if (option.stands_alone) out += cat("; ", kStandsAlone);
  if (option.only_speed) out += "; changes no row";
  return out;
}

std::string option_lines(std::span<const PlacedOption> options, size_t indent) {
  const std::string blanks(indent, ' ');
  std::string out;
  for (const auto& [path, option] : options) {
    const std::string head = cat(path, ": ", value_text(*option), "; ", default_clause(*option));
    out += cat(blanks, wrapped(head, indent + 2, indent), '\n');
    out += cat(blanks, "    ", wrapped(doc_of(*option), indent + 4, indent + 4), '\n');
  }
  return out;
}

// "A layer: an item of the list `model`."
std::string standing(const KindReference& kind) {
  if (kind.sort == "input op") return cat("An input op, ", kind.ports, ": an item of the list `input`.");
  if (kind.sort == "layer") return "A layer: an item of the list `model`.";
  if (kind.sort == "metric") return "A metric: an item of the list `metrics`.";
  if (kind.sort == "schedule") return "A schedule: the value of the option `schedule` of an optimizer.";
  return cat(kind.sort.starts_with('o') ? "An " : "A ", kind.sort, ": the value of the key `", kind.sort, "`.");
}

std::string indented(const std::string& text) {
  std::string out = "  ";
  for (const char c : text) out += c == '\n' ? std::string("\n  ") : std::string(1, c);
  return out + '\n';
}

std::string head(const KindReference& kind) { return cat(kind.info.kind, "\n  ", wrapped(kind.info.doc, 2, 2), '\n'); }

}  // namespace

std::string kind_page(const KindReference& kind) {
  std::string out = cat(head(kind), "  ", standing(kind), '\n');
  const auto section = [&out](const char* name, const std::vector<OptionInfo>& options) {
    if (!options.empty()) out += cat('\n', name, ":\n", option_lines(flatten(options), 2));
  };
  section("OPTIONS", kind.info.options);
  section("COMMON KEYS", kind.common);
  return cat(out, "\nEXAMPLE:\n", indented(placed_example(kind)));
}

std::string kinds_text(std::span<const KindReference> kinds) {
  std::string out;
  for (size_t i = 0; i < kinds.size(); ++i) {
    const KindReference& kind = kinds[i];
    const bool begins = i == 0 || kinds[i - 1].sort != kind.sort;
    const bool ends = i + 1 == kinds.size() || kinds[i + 1].sort != kind.sort;
    if (i > 0) out += '\n';
    if (begins) out += plural(kind.sort) + ":\n\n";
    out += head(kind) + option_lines(flatten(kind.info.options), 4);
    if (ends && !kind.common.empty()) {
      out += cat("\nkeys of every ", kind.sort, ":\n", option_lines(flatten(kind.common), 4));
    }
  }
  return out;
}

std::string keys_text(std::span<const PlacedOption> keys) { return option_lines(keys, 0); }

}  // namespace millrace::cli
