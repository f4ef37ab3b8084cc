// What `trainer init` says when it is done. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "millrace/cli/init/plan.h"

namespace millrace::cli {

struct InitTextArgs {
  const DataLook& look;
  const InitPlan& plan;
  std::string config = {};  // the file that was written; empty: it went to standard output
  bool by_number = false;   // see ConfigText
};

// What was seen and assumed, a line for each thing.
std::string init_text(const InitTextArgs& args);
// The last lines: commands to train and to judge the model, ready to be pasted into a shell.
std::string next_command(const std::string& config);
std::string then_command(const std::string& model);

// `text` as one word of a POSIX shell.
std::string shell_word(std::string_view text);

}  // namespace millrace::cli
