// The words of a command line, as far as they tell without being parsed. Pure functions.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/cli/help/command_info.h"
#include "millrace/cli/process/usage_error.h"

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

// Throws UsageError where a value of --set is no PATH=VALUE.
void check_settings(std::span<const std::string> settings);

// The command that the words behind `trainer help` lead to. Throws UsageError.
const CommandInfo& find_command(std::span<const std::string> words, const CommandInfo& program);

UsageError unknown_subcommand(const std::string& word, const std::vector<std::string>& known);
// "did you mean check?", or `otherwise`.
std::string suggestion(std::string_view word, const std::vector<std::string>& known, std::string otherwise);

}  // namespace millrace::cli
