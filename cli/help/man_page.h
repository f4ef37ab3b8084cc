// The manual page trainer(1), as roff: what --help says of the program and of every subcommand. Pure.
#pragma once

#include <string>

#include "millrace/cli/help/command_info.h"

namespace millrace::cli {

// For man, groff -man and mandoc. Printable ASCII and line ends alone.
std::string man_page(const CommandInfo& program);

}  // namespace millrace::cli
