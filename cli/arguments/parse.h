// parse(): which command the words of a command line ask for; their values go where its options were declared to.
#pragma once

#include <span>
#include <string>

#include "millrace/cli/arguments/command.h"

namespace millrace::cli {

struct Parsed {
  const Command& command;  // the program or one below it
  bool help;               // only its help is wanted
};

// `words` are those after the program's name. Throws UsageError, whose hint says where the usage is shown.
Parsed parse(std::span<const std::string> words, const Command& program);

}  // namespace millrace::cli
