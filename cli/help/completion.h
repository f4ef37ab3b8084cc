// Completion: the script that makes a shell complete the program's subcommands, options, their values, files and kinds.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/cli/help/command_info.h"
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

// `names` gives the values of a placeholder that stands for names: OP, KIND, KEY.
std::string completion_script(Shell shell, const CommandInfo& program,
                              const std::function<std::vector<std::string>(const std::string& value)>& names);

}  // namespace cli
}  // namespace millrace
