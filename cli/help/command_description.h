// What a command line of CLI11 offers, as a CommandInfo. Only command_description.cpp and arguments.cpp see CLI11.
#pragma once

#include <string>

#include "millrace/cli/help/command_info.h"

namespace CLI {
class App;
}

namespace millrace::cli {

// "trainer generate sum" -> "generate sum".
std::string path_of(const CLI::App& app);
// The last subcommand that was parsed, or `app`.
const CLI::App& innermost(const CLI::App& app);

// With everything below it.
CommandInfo describe_command(const CLI::App& app);

}  // namespace millrace::cli
