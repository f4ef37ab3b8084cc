// Completion of the command line in a shell. The shell's script asks the program by `trainer __complete WORD...`, so
// that all shells offer the same words and know every kind of this build.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "millrace/cli/arguments/command.h"
#include "millrace/core/options.h"

namespace millrace {

namespace cli {
enum class Shell : uint8_t { bash, zsh, fish };
}  // namespace cli

template <>
struct EnumNames<cli::Shell> {
  static constexpr std::pair<std::string_view, cli::Shell> kNames[] = {
      {"bash", cli::Shell::bash}, {"zsh", cli::Shell::zsh}, {"fish", cli::Shell::fish}};
};

namespace cli {

inline constexpr std::string_view kCompletionWord = "__complete";

// What may stand in place of the last of `words`, which are those after the program's name: a line for each; after a
// tab, some lines say what the word means. The line ":files" stands for the names of files.
std::string completions(std::span<const std::string> words, const Command& program);

std::string_view completion_script(Shell shell);

}  // namespace cli
}  // namespace millrace
