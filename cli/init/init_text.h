// The output of `trainer init`: a plan as a configuration, in YAML with comments, and the messages at the end. Pure
// functions; any thread may call them.
#pragma once

#include <string>
#include <string_view>

#include "millrace/cli/init/plan.h"

namespace millrace::cli {

struct ConfigTextArgs {
  const DataLook& look;
  const InitPlan& plan;
  std::string save;     // the model's file
  std::string command;  // the one that trains with the configuration; for the comment at its head
};

struct ConfigText {
  std::string text;
  bool by_number = false;  // columns have names, but are selected by number, as the names would take too much space
};

// Throws ConfigError for texts that YAML cannot hold, DataError for a configuration that is too large.
ConfigText config_text(const ConfigTextArgs& args);

// `text` for a comment: on one line, with control characters and marks of the writing direction escaped, cut if it is
// longer than `limit`.
std::string comment_text(std::string_view text, size_t limit = 200);

struct InitTextArgs {
  const DataLook& look;
  const InitPlan& plan;
  std::string config = {};  // the file that was written; empty: it went to standard output
  bool by_number = false;   // see ConfigText
};

// Everything that was seen and assumed, one thing on each line.
std::string init_text(const InitTextArgs& args);
// The last lines: commands to train and to judge the model, ready to be pasted into a shell.
std::string next_command(const std::string& config);
std::string then_command(const std::string& model);

// `text` as one word of a POSIX shell.
std::string shell_word(std::string_view text);

}  // namespace millrace::cli
