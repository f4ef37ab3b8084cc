// Completion of the command line in a shell. The shell's script asks the program by `trainer __complete WORD...`, so
// that all shells offer the same words and know every kind of this build.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "millrace/cli/arguments/command.h"

namespace millrace::cli {

inline constexpr std::string_view kCompletionWord = "__complete";

// What may stand in place of the last of `words`, which are those after the program's name: a line for each; after a
// tab, some lines say what the word means. The line ":files" stands for the names of files.
std::string completions(std::span<const std::string> words, const Command& program);

inline constexpr std::string_view kShells = "bash|zsh|fish";
// `shell` is one of these.
std::string_view completion_script(std::string_view shell);

}  // namespace millrace::cli
