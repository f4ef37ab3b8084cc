#include <unistd.h>

#include <exception>
#include <utility>

#include "millrace/cli/arguments/configuration.h"
#include "millrace/cli/commands/commands.h"
#include "millrace/cli/process/exit_code.h"
#include "millrace/cli/process/terminal.h"
#include "millrace/cli/process/usage_error.h"
#include "millrace/cli/report/json_events.h"
#include "millrace/cli/report/progress.h"
#include "millrace/cli/report/result_text.h"
#include "millrace/cli/speed/diagnosis_text.h"
#include "millrace/core/text.h"
#include "millrace/core/trace.h"
#include "millrace/core/utf8.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/files/files_in_use.h"
#include "millrace/trainer/trainer.h"

namespace millrace::cli {

namespace {

ProgressStyle progress_style(const Arguments& arguments) {
  if (arguments.quiet) return ProgressStyle::none;
  // Lines of JSON on the same terminal would tear the live line.
  const bool torn = arguments.json && is_terminal(STDOUT_FILENO);
  return is_terminal(STDERR_FILENO) && !torn ? ProgressStyle::live : ProgressStyle::lines;
}

// Writes the events of a training. When that fails, the training ends as by a signal, so that its model is kept.
class EventWriter {
 public:
  EventWriter(bool json, Trainer& trainer, Output& out) : json_(json), trainer_(trainer), out_(out) {}

  void write(const std::string& line) {
    if (!json_ || failure_) return;
    try {
      out_.write(line);
      out_.flush();
    } catch (const IoError&) {
      failure_ = std::current_exception();
      trainer_.stop();
    }
  }
  // Throws the failure that came.
  void finish() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  bool json_;
  Trainer& trainer_;
  Output& out_;
  std::exception_ptr failure_;
};

TrainCallbacks callbacks(Progress& progress, EventWriter& events) {
  TrainCallbacks callbacks;
  const auto event = [&events](const std::string& line) { events.write(line); };
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
  callbacks.on_log = [&progress, event](std::string_view text) {
    progress.log(text);
    event(log_event(text));
  };
  return callbacks;
}

// What was learned before a failure is worth keeping, where the model was to be kept, but not under its name.
void keep_partial(Trainer& trainer) {
  if (!trainer.config().save || trainer.steps() == 0) return;
  const std::string file = trainer.config().save->file + ".partial";
  try {
    trainer.save(file);
    write_to_stderr(escape_controls(cat("the model of step ", trainer.steps(), " is in ", file)) + '\n');
  } catch (const Error&) {
    // The failure that came first is the one to tell.
  }
}

// Throws when the file of --trace cannot be written, or would be lost or lose another one.
void check_trace(const Arguments& arguments, const Trainer& trainer) {
  if (arguments.trace.empty()) return;
  std::string loss = would_overwrite(arguments.trace, trainer.input().files(), arguments.config);
  if (loss.empty() && trainer.validation_input() != nullptr) {
    loss = would_overwrite(arguments.trace, trainer.validation_input()->files(), {});
  }
  const auto& save = trainer.config().save;
  if (loss.empty() && save && same_file(arguments.trace, save->file)) loss = "is the file that the model is saved to";
  if (!loss.empty()) {
    throw UsageError(cat("--trace ", quote(arguments.trace, 4096), ' ', loss), {}, "give it another name");
  }
  check_writable(arguments.trace);
}

// What was traced is worth most where the training failed.
class TraceKeeper {
 public:
  TraceKeeper(const Trace& trace, const Arguments& arguments) : trace_(trace), arguments_(arguments) {}
  ~TraceKeeper() {
    try {
      write();
    } catch (const std::exception&) {
      // The failure that came first is the one to tell.
    }
  }
  TraceKeeper(const TraceKeeper&) = delete;
  TraceKeeper& operator=(const TraceKeeper&) = delete;

  // Throws IoError.
  void write() {
    if (arguments_.trace.empty() || std::exchange(written_, true)) return;
    write_trace(trace_, arguments_.trace);
    if (trace_.dropped() == 0 || arguments_.quiet) return;
    write_to_stderr(cat("warning: the trace has no room for ",
                        count_of(static_cast<int64_t>(trace_.dropped()), "event"), ": it shows the beginning alone\n"));
  }

 private:
  const Trace& trace_;
  const Arguments& arguments_;
  bool written_ = false;
};

}  // namespace

int run_train(const Arguments& arguments, Session& session) {
  Trace trace;
  const Catalog catalog = read_catalog(arguments);
  Trainer trainer =
      Trainer::from_spec(read_configuration(arguments), catalog, arguments.trace.empty() ? nullptr : &trace);
  check_trace(arguments, trainer);
  TraceKeeper traced(trace, arguments);
  Progress progress(progress_style(arguments));
  EventWriter events(arguments.json, trainer, session.out);
  TrainResult result;
  {
    const auto guard = session.signals.while_running([&trainer] { trainer.stop(); });
    try {
      result = trainer.run(callbacks(progress, events));
    } catch (const Error&) {
      progress.clear();
      keep_partial(trainer);
      throw;
    }
  }
  progress.clear();
  events.finish();
  const Diagnosis diagnosis = diagnose(trainer.config(), catalog.ops, facts_of(result));
  session.out.write(arguments.json ? done_event(result, diagnosis)
                                   : result_text(result, diagnosis_text(diagnosis, result.delivery)));
  session.out.flush();
  traced.write();
  const int signal = session.signals.received();
  return result.reason == "stopped" && signal != 0 ? exit_code_of_signal(signal) : static_cast<int>(kExitDone);
}

}  // namespace millrace::cli
