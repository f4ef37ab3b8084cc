// The texts of --help, the manual page, and the completions for shells. Pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "millrace/cli/arguments/command.h"

namespace millrace::cli {

// Summary, usage, options by group, subcommands, details, exit codes, and where to read on.
std::string help_page(const Command& command);

// The text that the program prints if it has no arguments.
std::string short_help(const Command& program);

// The manual page trainer(1) as roff, for man, groff -man and mandoc. Only printable ASCII and line ends.
std::string man_page(const Command& program);

// A shell's script asks the program for completions by `trainer __complete WORD...`, so that all shells offer the same
// words and know every kind of this build.
inline constexpr std::string_view kCompletionWord = "__complete";

// The words that may replace the last of `words`, one on each line. After a tab, some lines say what the word means.
// The line ":files" stands for the names of files. `words` are the words after the program's name.
std::string completions(std::span<const std::string> words, const Command& program);

inline constexpr std::string_view kShells = "bash|zsh|fish";
// `shell` is one of these.
std::string_view completion_script(std::string_view shell);

}  // namespace millrace::cli
