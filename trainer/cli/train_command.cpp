#include <unistd.h>

#include "millrace/trainer/cli/commands.h"
#include "millrace/trainer/cli/configuration.h"
#include "millrace/trainer/cli/exit_code.h"
#include "millrace/trainer/cli/json_events.h"
#include "millrace/trainer/cli/progress.h"
#include "millrace/trainer/cli/result_text.h"
#include "millrace/trainer/cli/terminal.h"
#include "millrace/trainer/trainer.h"

namespace millrace::cli {

namespace {

ProgressStyle progress_style(const Arguments& arguments) {
  if (arguments.quiet) return ProgressStyle::none;
  // Lines of JSON on the same terminal would tear the live line.
  const bool torn = arguments.json && is_terminal(STDOUT_FILENO);
  return is_terminal(STDERR_FILENO) && !torn ? ProgressStyle::live : ProgressStyle::lines;
}

TrainCallbacks callbacks(bool json, Progress& progress, Output& out) {
  TrainCallbacks callbacks;
  const auto event = [json, &out](const std::string& line) {
    if (!json) return;
    out.write(line);
    out.flush();
  };
  callbacks.on_start = [&progress, event](const StartReport& report) {
    progress.start(report);
    event(start_event(report));
  };
  callbacks.on_step = [&progress, event](const StepReport& report) {
    progress.step(report);
    event(step_event(report));
  };
  if (progress.style() == ProgressStyle::live) {
    callbacks.on_progress = [&progress](const StepReport& report) { progress.live(report); };
  }
  callbacks.on_validation = [&progress, event](const ValidationReport& report) {
    progress.validation(report);
    event(validation_event(report));
  };
  callbacks.on_log = [&progress](std::string_view text) { progress.log(text); };
  return callbacks;
}

}  // namespace

int run_train(const Arguments& arguments, Session& session) {
  Trainer trainer = Trainer::from_spec(read_configuration(arguments));
  Progress progress(progress_style(arguments));
  TrainResult result;
  {
    const auto guard = session.signals.while_running([&trainer] { trainer.stop(); });
    result = trainer.run(callbacks(arguments.json, progress, session.out));
  }
  progress.clear();
  session.out.write(arguments.json ? done_event(result) : result_text(result));
  session.out.flush();
  const int signal = session.signals.received();
  return result.reason == "stopped" && signal != 0 ? exit_code_of_signal(signal) : static_cast<int>(kExitDone);
}

}  // namespace millrace::cli
