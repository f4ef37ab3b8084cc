// CommandInfo: what the command line offers, as data. Parser, help and completion speak of the same declarations.
#pragma once

#include <string>
#include <vector>

namespace millrace::cli {

// An option, a flag or a positional argument. The placeholder of its value says what completes it: names joined by |
// are all there is; FILE, DIR and GLOB are paths; OP, KIND and KEY are what `trainer ops`, `trainer layers` and
// `trainer config` list; anything else is up to the user.
struct ArgumentInfo {
  std::vector<std::string> names;  // "-q", "--quiet"; empty for a positional argument
  std::string value;               // the placeholder; empty for a flag
  std::string default_value;       // empty when there is none
  std::string doc;
  std::string group;  // the heading in the help; empty: OPTIONS
};

struct CommandInfo {
  std::string path;  // "generate sum"; empty for the program itself
  std::vector<ArgumentInfo> arguments;
  std::vector<CommandInfo> commands;
};

// The names that a placeholder like "bash|zsh|fish" offers; none for others.
std::vector<std::string> choices_of(const std::string& value);

// `command` and all below it, each before its own subcommands. They point into `command`.
std::vector<const CommandInfo*> all_commands(const CommandInfo& command);
std::vector<const CommandInfo*> all_commands(CommandInfo&&) = delete;

// "sum".
std::string last_word(const std::string& path);
// "trainer generate sum".
std::string command_line(const CommandInfo& command);

}  // namespace millrace::cli
