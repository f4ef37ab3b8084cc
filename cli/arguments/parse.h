// parse(): which command the words of a command line ask for. The values of its options are read into the variables
// that they were declared with.
#pragma once

#include <span>
#include <string>

#include "millrace/cli/arguments/command.h"

namespace millrace::cli {

struct Parsed {
  const Command& command;  // the program or one of its subcommands
  bool help;               // only the command's help is asked for
};

// `words` are those after the program's name. Throws UsageError; its hint says how to see the usage.
Parsed parse(std::span<const std::string> words, const Command& program);

}  // namespace millrace::cli
