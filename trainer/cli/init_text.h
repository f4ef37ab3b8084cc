// What `trainer init` says when it is done. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "millrace/trainer/init/plan.h"

namespace millrace::cli {

// What was seen and assumed, a line each. `config` and `command` are what was written and what comes next; without
// `config` it went to standard output.
std::string init_text(const DataLook& look, const InitPlan& plan, const std::string& config);
// The last line: a command that a shell takes as it stands.
std::string next_command(const std::string& config);

// `text` as one word of a POSIX shell.
std::string shell_word(std::string_view text);

}  // namespace millrace::cli
