#include "millrace/cli/commands/commands.h"

namespace millrace::cli {

Command program() {
  Command out = root_command();
  for (Command (*make)() : {MILLRACE_COMMANDS}) {
    out.commands.push_back(make());
  }
  return out;
}

}  // namespace millrace::cli
