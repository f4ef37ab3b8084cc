#include <unistd.h>

#include <optional>
#include <stop_token>

#include "millrace/cli/arguments/configuration.h"
#include "millrace/cli/commands/commands.h"
#include "millrace/cli/process/exit_code.h"
#include "millrace/cli/process/terminal.h"
#include "millrace/cli/speed/speed_text.h"

namespace millrace::cli {

namespace {

constexpr CommandText kSpeedText = {
    "speed", "Measures input and step, alone and together: which is the bottleneck, and which key to change.",
    R"(  trainer speed --config FILE [OPTIONS]
  trainer speed FILE [OPTIONS])",
    R"(Runs the input alone, the step alone on one batch, and both, in turn, for some seconds. Then it
tries keys that change no result, such as threads, capacity, chunk_bytes or delivery, each for some
seconds more, and advises what made the training faster, with the gain that it measured. Data that
end are read again; nothing is validated or saved. Every training ends with a line about the same,
from what it counts anyway.

EXAMPLES:
  trainer speed --config mlp.yaml
  trainer speed --config mlp.yaml --set threads=1 --rounds 1 --json
)",
    "trainer compare, docs/performance.md"};

struct SpeedArguments : ConfigArguments {
  int64_t rounds = 3;
  bool json = false;
  bool quiet = false;

  void declare(Command& c) {
    ConfigArguments::declare(c);
    c.heading({});
    c.number("--rounds", rounds, {.least = 1, .most = 1000}, "how often everything is measured");
    c.heading("OUTPUT");
    c.flag("--json", json, "print what was found as one line of JSON");
    c.flag("-q,--quiet", quiet, "do not say what is measured");
  }
};

int run_speed(const SpeedArguments& arguments, Session& session) {
  const Catalog catalog = read_catalog(arguments);
  const Spec config =
      read_configuration(arguments, catalog, [&](const Spec& written) { return for_speed(written, catalog); });
  std::stop_source stop;
  std::optional<SpeedReport> found;
  {
    StatusLine status(arguments.quiet);
    const auto guard = session.signals.while_running([&stop] { stop.request_stop(); });
    found =
        measure_speed(config, catalog,
                      {.rounds = arguments.rounds, .stop = stop.get_token(), .tell = [&status](std::string_view part) {
                         status.show(part);
                       }});
  }
  if (!found) return exit_code_of_signal(session.signals.received());
  session.out.write(arguments.json ? speed_json(*found) : folded_for(STDOUT_FILENO, speed_text(*found)));
  return kExitDone;
}

}  // namespace

Command speed_command() { return make_command(kSpeedText, run_speed); }

}  // namespace millrace::cli
