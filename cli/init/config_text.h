// The configuration that a plan becomes, as YAML with comments. Pure; any thread may call it.
#pragma once

#include <string>
#include <string_view>

#include "millrace/cli/init/plan.h"

namespace millrace {

struct ConfigTextArgs {
  const DataLook& look;
  const InitPlan& plan;
  std::string save;     // the model's file
  std::string command;  // that trains with the configuration; for its head
};

struct ConfigText {
  std::string text;
  bool by_number = false;  // columns are selected by number, though they have names: these would take too much
};

// Throws ConfigError for texts that YAML cannot hold, DataError for a configuration that is too large.
ConfigText config_text(const ConfigTextArgs& args);

// A text within a comment: on one line, controls and marks of the writing direction escaped, cut if it is long.
std::string comment_text(std::string_view text, size_t limit = 200);

}  // namespace millrace
