#include <algorithm>

#include "millrace/cli/reference/reference_page.h"
#include "millrace/core/text.h"
#include "millrace/trainer/config/config.h"

namespace millrace::cli {

namespace {

// Text in the cell of a table.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) c == '|' ? out += "\\|" : out += c;
  return out;
}
std::string code(std::string_view text) { return text.empty() ? std::string() : cat('`', cell(text), '`'); }

std::string table(const std::vector<OptionInfo>& options) {
  if (options.empty()) return "No options.\n";
  std::string out = "| key | type | default | meaning |\n|---|---|---|---|\n";
  for (const auto& [path, option] : flatten(options)) {
    const std::string fallback = option->required ? "required" : code(default_text(*option));
    out += cat("| ", code(path), " | ", cell(value_text(*option)), " | ", fallback, " | ", cell(option->doc),
               option->stands_alone ? cat("; ", kStandsAlone) : std::string(),
               option->only_speed ? "; changes no row" : "", " |\n");
  }
  return out;
}

std::string capital(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

std::string kinds_markdown(std::span<const KindReference> kinds) {
  std::string out;
  for (size_t i = 0; i < kinds.size(); ++i) {
    const KindReference& kind = kinds[i];
    if (i == 0 || kinds[i - 1].sort != kind.sort) {
      out += cat("\n## ", capital(plural(kind.sort)), '\n');
      if (!kind.common.empty()) out += cat("\nKeys of every ", kind.sort, ":\n\n", table(kind.common));
    }
    out += cat("\n### ", kind.info.kind, "\n\n", capital(kind.info.doc), '.',
               kind.ports.empty() ? "" : cat(" Ports: ", kind.ports, '.'), "\n\n", table(kind.info.options),
               "\n```yaml\n", placed_example(kind), "\n```\n");
  }
  return out;
}

}  // namespace

std::string config_markdown(const Catalog& catalog) {
  return cat(
      "# The configuration\n\n"
      "<!-- Made by `trainer config --markdown > docs/config.md`; a test compares. -->\n\n"
      "One YAML file. A kind (an op, layer, loss, metric or optimizer) is written `name` or `name: {option: value}`; "
      "where an option may stand in place of all of them, also `name: value`. A key that is absent has its default. "
      "`trainer config`, `trainer ops NAME` and `trainer layers NAME` say the same in the terminal, `trainer schema` "
      "tells editors.\n\n"
      "## Keys\n\n",
      table(describe_config()), kinds_markdown(describe_ops(catalog)), kinds_markdown(describe_layers(catalog)));
}

}  // namespace millrace::cli
