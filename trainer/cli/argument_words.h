// The words of a command line, as far as they tell without being parsed. Pure functions.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "millrace/trainer/cli/command_info.h"

namespace millrace::cli {

// Every option of some command of `program` apart from its value: --name=value in two words, for CLI11 takes the next
// word for an empty value.
struct SplitWords {
  std::vector<std::string> words;
  std::string misuse;  // the message about the first flag that has a value; empty when none has
};
SplitWords split_values(std::span<const std::string> words, const CommandInfo& program);

struct WholeRange {
  int64_t least = 0;
  int64_t most = std::numeric_limits<int64_t>::max();
};
// The value of the option `name`. Throws UsageError.
int64_t whole_number(const std::string& name, const std::string& text, const WholeRange& range);

}  // namespace millrace::cli
