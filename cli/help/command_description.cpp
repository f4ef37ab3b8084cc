#include "millrace/cli/help/command_description.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <utility>

namespace millrace::cli {

namespace {

ArgumentInfo describe_argument(const CLI::Option& option) {
  ArgumentInfo out;
  for (const std::string& name : option.get_snames()) out.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) out.names.push_back("--" + name);
  const bool positional = option.get_positional();
  // The name of a positional argument is its placeholder, unless it is a choice.
  if (positional) out.value = option.get_name(true, false);
  const std::string type = option.get_type_name();
  if (option.get_type_size() != 0 && (!positional || !choices_of(type).empty())) out.value = type;
  out.default_value = option.get_default_str();
  out.doc = option.get_description();
  if (option.get_group() != "Options") out.group = option.get_group();
  return out;
}

}  // namespace

std::string path_of(const CLI::App& app) {
  if (app.get_parent() == nullptr) return {};
  const std::string above = path_of(*app.get_parent());
  return above.empty() ? app.get_name() : above + ' ' + app.get_name();
}

const CLI::App& innermost(const CLI::App& app) {
  const auto selected = app.get_subcommands();
  return selected.empty() ? app : innermost(*selected.front());
}

CommandInfo describe_command(const CLI::App& app) {
  CommandInfo out;
  out.path = path_of(app);
  for (const CLI::Option* option : app.get_options()) out.arguments.push_back(describe_argument(*option));
  for (const CLI::App* below : app.get_subcommands([](const CLI::App*) { return true; })) {
    out.commands.push_back(describe_command(*below));
  }
  return out;
}

}  // namespace millrace::cli
