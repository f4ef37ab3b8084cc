#include "millrace/trainer/cli/arguments.h"
#include "millrace/trainer/cli/commands.h"
#include "millrace/trainer/cli/exit_code.h"
#include "millrace/trainer/cli/man_page.h"

namespace millrace::cli {

int run_man(Session& session) {
  session.out.write(man_page(describe_commands()));
  session.out.flush();
  return kExitDone;
}

}  // namespace millrace::cli
