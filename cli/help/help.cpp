#include "millrace/cli/help/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "millrace/cli/process/exit_code.h"
#include "millrace/cli/text/text_layout.h"
#include "millrace/core/text.h"

namespace millrace::cli {

namespace {

constexpr size_t kDocColumn = 28;

std::string two_columns(const std::string& left, const std::string& right) {
  const std::string start = "  " + left;
  const std::string doc = wrapped(right, kDocColumn, kDocColumn);
  if (start.size() + 2 > kDocColumn) return fmt::format("{}\n{:{}}{}\n", start, "", kDocColumn, doc);
  return fmt::format("{:<{}}{}\n", start, kDocColumn, doc);
}

std::string argument_lines(const Argument& argument) {
  std::string left = join(argument.names, ", ");
  if (argument.is_positional()) {
    left = argument.value;
  } else {
    if (argument.names.front().starts_with("--")) left = "    " + left;
    left += argument.before_value() + argument.value + argument.after_value();
  }
  const std::string& value = argument.default_value;
  return two_columns(left, value.empty() ? argument.doc : cat(argument.doc, " [default: ", value, ']'));
}

// The options in the order of their declaration, under the headings of their groups; the common ones come last.
std::string option_groups(const Command& command) {
  std::vector<std::pair<std::string, std::string>> groups;
  std::string common;
  for (const Argument& argument : command.arguments) {
    const std::string heading = argument.is_positional() ? "ARGUMENTS" : argument.group;
    auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& one) { return one.first == heading; });
    if (group == groups.end() && !heading.empty()) group = groups.insert(group, {heading, ""});
    (heading.empty() ? common : group->second) += argument_lines(argument);
  }
  groups.emplace_back("OPTIONS", common);
  std::string out;
  for (const auto& [heading, lines] : groups) out += cat('\n', heading, ":\n", lines);
  return out;
}

std::string subcommands(const Command& command) {
  std::string out = command.commands.empty() ? "" : "\nSUBCOMMANDS:\n";
  for (const Command& below : command.commands) out += two_columns(below.name(), std::string(below.about.summary));
  return out;
}

}  // namespace

std::string help_page(const Command& command) {
  const CommandText& text = command.about;
  std::string out = cat(text.summary, "\n\nUSAGE:\n", text.usage, '\n', option_groups(command), subcommands(command),
                        '\n', text.details);
  // Commands that take a configuration or a model can end with any of these.
  if (command.option("--set") != nullptr || command.option("--model") != nullptr) {
    out += cat("\nEXIT CODES:\n  ", wrapped(exit_codes_text(), 2, 2), '\n');
  }
  return cat(out, "\nSEE ALSO:\n  ", wrapped(text.see_also, 2, 2), '\n');
}

std::string short_help(const Command& program) {
  return cat(program.about.summary, "\n\nUSAGE:\n", program.about.usage, '\n', subcommands(program),
             "\nBegin with trainer init DATA --label NAME; trainer --help says more\n");
}

}  // namespace millrace::cli
