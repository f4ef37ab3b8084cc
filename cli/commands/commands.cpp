#include "millrace/cli/commands/commands.h"

namespace millrace::cli {

Command program() {
  Command out = root_command();
  for (Command (*make)() : {train_command, check_command, init_command, input_command, speed_command, compare_command,
                            evaluate_command, predict_command, generate_command, ops_command, layers_command,
                            config_command, schema_command, doctor_command, man_command, completion_command}) {
    out.commands.push_back(make());
  }
  return out;
}

}  // namespace millrace::cli
