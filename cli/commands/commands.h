// The subcommands. Each is declared in a file of its own: its options, its help, and what it runs. cli/CMakeLists.txt
// lists those that are built.
#pragma once

#include "millrace/cli/arguments/command.h"

namespace millrace::cli {

// The whole program: `trainer` itself, which trains, with the other commands below it in the order of the help.
Command program();

Command train_command();
Command check_command();
Command init_command();
Command input_command();
Command convert_command();
Command speed_command();
Command compare_command();
Command evaluate_command();
Command predict_command();
Command serve_command();
Command export_command();
Command checkpoints_command();
Command verify_resume_command();
Command worker_command();
Command keys_command();
Command generate_command();  // with its subcommands
Command ops_command();
Command layers_command();
Command config_command();
Command schema_command();
Command doctor_command();
Command man_command();
Command completion_command();

// `trainer` without its subcommands.
Command root_command();

}  // namespace millrace::cli
