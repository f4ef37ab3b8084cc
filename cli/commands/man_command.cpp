#include "millrace/cli/arguments/arguments.h"
#include "millrace/cli/commands/commands.h"
#include "millrace/cli/help/man_page.h"
#include "millrace/cli/process/exit_code.h"

namespace millrace::cli {

int run_man(Session& session) {
  session.out.write(man_page(describe_commands()));
  session.out.flush();
  return kExitDone;
}

}  // namespace millrace::cli
