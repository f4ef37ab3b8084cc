#include "millrace/cli/arguments/configuration.h"
#include "millrace/cli/commands/commands.h"
#include "millrace/cli/process/exit_code.h"
#include "millrace/cli/process/status_line.h"
#include "millrace/cli/speed/speed_text.h"

namespace millrace::cli {

int run_speed(const Arguments& arguments, Session& session) {
  SpeedTest test(read_configuration(arguments), read_catalog(arguments));
  std::optional<SpeedReport> found;
  {
    StatusLine status(arguments.quiet);
    const auto guard = session.signals.while_running([&test] { test.stop(); });
    found = test.run({.rounds = arguments.rounds}, [&status](std::string_view part) { status.show(part); });
  }
  if (!found) return exit_code_of_signal(session.signals.received());
  session.out.write(arguments.json ? speed_json(*found) : speed_text(*found));
  session.out.flush();
  return kExitDone;
}

}  // namespace millrace::cli
