#include "millrace/trainer/cli/commands.h"
#include "millrace/trainer/cli/exit_code.h"

namespace millrace::cli {

int run_doctor(const Arguments&, Session&) { return kExitDone; }

}  // namespace millrace::cli
