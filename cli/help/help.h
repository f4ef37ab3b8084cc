// The texts of --help, for the whole program and each subcommand.
#pragma once

#include <string>
#include <string_view>

#include "millrace/cli/help/command_info.h"

namespace millrace::cli {

// What the help of the subcommand `name` ("" is the program itself) says beside its options.
struct HelpText {
  std::string_view name;
  std::string_view summary;        // one line
  std::string_view usage;          // lines, indented by two
  std::string_view details;        // what is worth knowing, then examples; paragraphs are wrapped when they are shown
  std::string_view see_also = {};  // commands and pages, with commas between them
};
const HelpText& help_text(std::string_view name);

// Summary, usage, options by group, subcommands, details, exit codes, and where to read on.
std::string help_page(const CommandInfo& command);

// What the program says when it is given nothing to do.
std::string_view short_help();

}  // namespace millrace::cli
