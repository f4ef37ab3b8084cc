// What the commands say about themselves: the texts of --help and the manual page. Pure functions.
#pragma once

#include <string>

#include "millrace/cli/arguments/command.h"

namespace millrace::cli {

// Summary, usage, options by group, subcommands, details, exit codes, and where to read on.
std::string help_page(const Command& command);

// What the program says if it is given nothing to do.
std::string short_help(const Command& program);

// The manual page trainer(1) as roff, for man, groff -man and mandoc. Only printable ASCII and line ends.
std::string man_page(const Command& program);

}  // namespace millrace::cli
