#include "millrace/cli/reference/reference.h"

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

// "input ops", if the option's value names input ops; empty if it names no kinds.
std::string named_sort(const OptionInfo& option) {
  for (const OptionForm& form : option.forms) {
    if (!form.sort.empty()) return plural(form.sort);
    for (const OptionForm& item : form.items) {
      if (!item.sort.empty()) return plural(item.sort);
    }
  }
  return {};
}

// More words about an option, which follow its doc: "; changes no row".
std::string notes_of(const OptionInfo& option) {
  return cat(option.stands_alone ? "; its value may stand in place of the options" : "",
             option.only_speed ? "; changes no row" : "");
}

std::string doc_of(const OptionInfo& option) {
  const std::string sort = named_sort(option);
  std::string out = option.doc;
  if (!sort.empty()) out += cat("; `trainer ", sort == "input ops" ? "ops" : "layers", "` lists the ", sort);
  return out + notes_of(option);
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

std::string head(const KindReference& kind) { return cat(kind.info.kind, "\n  ", wrapped(kind.info.doc, 2, 2), '\n'); }

// Text in the cell of a table.
std::string cell(std::string_view text) { return replaced(text, '|', "\\|"); }
std::string code(std::string_view text) { return text.empty() ? std::string() : cat('`', cell(text), '`'); }

std::string table(const std::vector<OptionInfo>& options) {
  if (options.empty()) return "No options.\n";
  std::string out = "| key | type | default | meaning |\n|---|---|---|---|\n";
  for (const auto& [path, option] : flatten(options)) {
    const std::string fallback = option->required ? "required" : code(default_text(*option));
    out += cat("| ", code(path), " | ", cell(value_text(*option)), " | ", fallback, " | ", cell(option->doc),
               notes_of(*option), " |\n");
  }
  return out;
}

std::string capital(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

std::string kinds_markdown(std::span<const KindReference> kinds) {
  std::string out;
  for (const auto& sort : by_sort(kinds)) {
    const KindReference& first = sort.front();
    out += cat("\n## ", capital(plural(first.sort)), '\n');
    if (!first.common.empty()) out += cat("\nKeys of every ", first.sort, ":\n\n", table(first.common));
    for (const KindReference& kind : sort) {
      out += cat("\n### ", kind.info.kind, "\n\n", capital(kind.info.doc), '.',
                 kind.ports.empty() ? "" : cat(" Ports: ", kind.ports, '.'), "\n\n", table(kind.info.options),
                 "\n```yaml\n", placed_example(kind), "\n```\n");
    }
  }
  return out;
}

}  // namespace

std::string kind_page(const KindReference& kind) {
  std::string out = cat(head(kind), "  ", standing(kind), '\n');
  const auto section = [&out](const char* name, const std::vector<OptionInfo>& options) {
    if (!options.empty()) out += cat('\n', name, ":\n", option_lines(flatten(options), 2));
  };
  section("OPTIONS", kind.info.options);
  section("COMMON KEYS", kind.common);
  return cat(out, "\nEXAMPLE:\n  ", replaced(placed_example(kind), '\n', "\n  "), '\n');
}

std::string kinds_text(std::span<const KindReference> kinds) {
  std::string out;
  for (const auto& sort : by_sort(kinds)) {
    const KindReference& first = sort.front();
    out += cat(out.empty() ? "" : "\n", plural(first.sort), ":\n");
    for (const KindReference& kind : sort) out += '\n' + head(kind) + option_lines(flatten(kind.info.options), 4);
    if (!first.common.empty()) {
      out += cat("\nkeys of every ", first.sort, ":\n", option_lines(flatten(first.common), 4));
    }
  }
  return out;
}

std::string keys_text(std::span<const PlacedOption> keys) { return option_lines(keys, 0); }

std::string config_markdown(const Catalog& catalog) {
  return cat(
      "# The configuration\n\n"
      "<!-- Made by `trainer config --markdown > docs/config.md`; a test compares. -->\n\n"
      "One YAML file. A kind (an op, layer, loss, metric or optimizer) is written `name` or `name: {option: value}`; "
      "if an option may stand in place of all of them, also `name: value`. A key that is absent has its default. "
      "`trainer config`, `trainer ops NAME` and `trainer layers NAME` say the same in the terminal, `trainer schema` "
      "tells editors.\n\n"
      "## Keys\n\n",
      table(describe_config()), kinds_markdown(describe_ops(catalog)), kinds_markdown(describe_layers(catalog)));
}

}  // namespace millrace::cli
