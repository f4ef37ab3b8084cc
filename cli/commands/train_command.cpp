#include <unistd.h>

#include <atomic>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "millrace/cli/arguments/configuration.h"
#include "millrace/cli/commands/commands.h"
#include "millrace/cli/process/exit_code.h"
#include "millrace/cli/process/kill_before_call.h"
#include "millrace/cli/process/terminal.h"
#include "millrace/cli/report/failure.h"
#include "millrace/cli/report/json_events.h"
#include "millrace/cli/report/json_log.h"
#include "millrace/cli/report/progress.h"
#include "millrace/cli/report/result_text.h"
#include "millrace/cli/speed/speed_text.h"
#include "millrace/core/text.h"
#include "millrace/core/trace.h"
#include "millrace/core/utf8.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/files/files_in_use.h"
#include "millrace/trainer/trainer.h"
#include "millrace/version.h"

namespace millrace::cli {

namespace {

constexpr CommandText kProgramText = {
    "", "Trains a model on files larger than memory, fed by a native input graph.",
    R"(  trainer --config FILE [OPTIONS]
  trainer FILE.yaml [OPTIONS]
  trainer SUBCOMMAND [OPTIONS])",
    R"(Reads a configuration, one YAML file, and the data that it names, relative to the current folder.
Results and JSON go to standard output; progress, log lines and errors to standard error: on a
terminal in one live line, with the share that is done and the time that is left if the data have a
known end. The model is written where --save or the key save says, else it is not kept.

EXAMPLES:
  trainer config --example > mlp.yaml
  trainer generate sum --out data/sum --features 8
  trainer check --config mlp.yaml
  trainer --config mlp.yaml --set optimizer.adam.learning_rate=0.003 --save model.safetensors
)",
    "trainer SUBCOMMAND --help, trainer config, trainer layers, trainer ops, docs/config.md"};

constexpr CommandText kTrainText = {
    "train", "Trains the model that a configuration describes.",
    R"(  trainer train --config FILE [OPTIONS]
  trainer train FILE [OPTIONS])",
    R"(A path of --set names a key (train.steps), an item of a list by its kind or name if only one has it
(input.shuffle_batch.batch_size), or by position (input[3].batch_size). Values are YAML; the last
one wins, and null takes a key away. With the key validation, the model is judged every so many
steps by rows that are not trained on; keep_best keeps the best one. A training that is stopped then
saves the model of its last step, too, in NAME.last.safetensors next to NAME.safetensors.

With the key checkpoint, the whole state of the training is written every so many steps or minutes.
--resume goes on from the newest checkpoint, with the weights that a training without a break would
have, or begins if there is none: so the same command line starts a training and goes on with it.
Without --resume, a folder that holds checkpoints is an error. Some keys may have other values when
a training goes on, such as train.steps and threads (docs/checkpoints.md). SIGUSR1 asks for a
checkpoint, and the training goes on. If one cannot be written, or a line of the key log.json, the
training goes on, too, but the exit code is 74 at the end.

Equal configuration, seed and data give equal weights; the result ends with their hash. SIGINT,
SIGTERM or SIGHUP (a closed terminal) ends the training after the running step, reports and saves,
whether anyone reads the output or not; another SIGINT or SIGTERM, half a second later, ends it at
once. A training that fails saves what it has learned in NAME.safetensors.partial.

The file of --trace shows ops, layers and waits on a time line in ui.perfetto.dev or
chrome://tracing. It is written at the end, whatever ended the training.

EXAMPLES:
  trainer train --config mlp.yaml --save model.safetensors
  trainer train --config mlp.yaml --set train.steps=40 --trace trace.json
  trainer train --config mlp.yaml --set train.steps=5 --set device=cpu
  trainer train --config mlp.yaml --json --quiet > events.jsonl
)",
    "trainer check, trainer config train, docs/config.md, docs/checkpoints.md"};

struct TrainArguments : ConfigArguments {
  std::optional<std::string> resume;  // --resume: a checkpoint; empty: the newest one, if any
  std::string save, trace;
  bool json = false;
  bool quiet = false;

  void declare(Command& c) {
    ConfigArguments::declare(c);
    c.optional_text(
        "--resume", resume, "FILE",
        "go on from the newest checkpoint in checkpoint.dir, or begin if there is none; with FILE go on from "
        "that one");
    c.heading("OUTPUT");
    c.text("--save", save, "FILE", "keep the trained model in FILE, whatever the configuration says");
    c.text("--trace", trace, "FILE", "write to FILE what each thread did when, for ui.perfetto.dev");
    c.flag("--json", json, "print events as lines of JSON on standard output");
    c.flag("-q,--quiet", quiet, "hide progress, warnings and log lines");
  }
  void check(const Command& c) {
    ConfigArguments::check(c);
    refuse_dash("--save", save);
    refuse_dash("--trace", trace);
  }
};

struct RootArguments : TrainArguments {
  bool version = false;

  void declare(Command& c) {
    TrainArguments::declare(c);
    c.heading({});
    c.flag("-V,--version", version, "print version, compiler, CUDA, processor and libraries");
  }
  void check(const Command& c) {
    if (!version) TrainArguments::check(c);
  }
};

ProgressStyle progress_style(const TrainArguments& arguments) {
  if (arguments.quiet) return ProgressStyle::none;
  // A live line cannot be wiped if lines of JSON appear on the same terminal.
  const bool torn = arguments.json && is_terminal(STDOUT_FILENO);
  return is_terminal(STDERR_FILENO) && !torn ? ProgressStyle::live : ProgressStyle::lines;
}

// Reports what happens in a training: to people through `progress`, to programs as lines of JSON on standard output and
// in the log.
class Reporter {
 public:
  Reporter(const TrainArguments& arguments, Session& session, Trainer& trainer, Progress& progress, JsonLog& log)
      : arguments_(arguments), session_(session), trainer_(trainer), progress_(progress), log_(log) {}

  TrainCallbacks callbacks(bool resumed);
  // Any thread may call it.
  void ask_for_checkpoint() {
    trainer_.checkpoint();
    asked_ = true;
  }
  // Warns once if someone asked for a checkpoint and the configuration has none.
  void answer();
  // The failure to write to standard output; null if there was none. After a failure the training ends as after a
  // signal, so that its model is saved.
  const std::exception_ptr& unwritten() const { return unwritten_; }
  void write(const std::string& text) noexcept;

 private:
  void event(const std::string& line);
  void log(std::string_view text);

  const TrainArguments& arguments_;
  Session& session_;
  Trainer& trainer_;
  Progress& progress_;
  JsonLog& log_;
  std::exception_ptr unwritten_;
  std::atomic<bool> asked_{false};
  bool answered_ = false;
};

TrainCallbacks Reporter::callbacks(bool resumed) {
  TrainCallbacks callbacks;
  callbacks.on_start = [this, resumed](const StartReport& report) {
    progress_.start(report);
    if (!resumed) log_.begin();
    event(start_event(report));
  };
  // A log that goes on has the start event already, so it begins only here.
  callbacks.on_resume = [this](const ResumeReport& report) {
    progress_.resumed(report);
    log_.begin();
    event(resume_event(report));
  };
  callbacks.on_step = [this](const StepReport& report) {
    progress_.step(report);
    event(step_event(report));
    answer();
  };
  if (progress_.style() == ProgressStyle::live) {
    callbacks.on_progress = [this](const StepReport& report) { progress_.live(report); };
    callbacks.on_validating = [this](const ValidationProgress& report) { progress_.validating(report); };
  }
  callbacks.on_validation = [this](const ValidationReport& report) {
    progress_.validated(report);
    event(validation_event(report));
  };
  callbacks.on_checkpoint = [this](const CheckpointReport& report) {
    progress_.saved(report);
    event(checkpoint_event(report));
  };
  callbacks.on_log = [this](std::string_view text) { log(text); };
  return callbacks;
}

void Reporter::log(std::string_view text) {
  progress_.log(text);
  event(log_event(text));
}

void Reporter::event(const std::string& line) {
  const bool missing = !log_.write(line);
  if (arguments_.json) write(line);
  if (missing) log(cat("warning: the log lacks a line, and may lack more: ", log_.failure()));
}

void Reporter::write(const std::string& text) noexcept {
  if (unwritten_) return;
  try {
    session_.out.write(text);
    session_.out.flush();
  } catch (...) {
    unwritten_ = std::current_exception();
    trainer_.stop();
  }
}

void Reporter::answer() {
  if (!asked_ || answered_ || trainer_.config().checkpoint) return;
  answered_ = true;
  log("warning: SIGUSR1 asks for a checkpoint, but the configuration lacks the key checkpoint");
}

// After a failure: saves what was to be saved, the best model too, under names of its own.
void keep_partial(Trainer& trainer) noexcept {
  const auto& save = trainer.config().save;
  const auto& validation = trainer.config().validation;
  if (!save || trainer.steps() == 0) return;
  const auto keep = [&trainer](std::string_view what, int64_t step, const std::string& file) {
    trainer.save(file + ".partial");
    write_to_stderr(escape_controls(cat("the ", what, " of step ", step, " is in ", file, ".partial")) + '\n');
  };
  try {
    keep("model", trainer.steps(), validation && validation->keep_best ? save->last_file() : save->file);
    if (const auto best = trainer.put_back_best()) keep("best model", best->step, save->file);
  } catch (...) {
    // Only the failure that came first is reported.
  }
}

// Throws if the file of --trace cannot be written, or is also a file that the training uses.
void check_trace(const TrainArguments& arguments, const Trainer& trainer) {
  if (arguments.trace.empty()) return;
  check_out("--trace", arguments.trace, trainer.input().files(), arguments.config);
  if (const InputGraph* validation = trainer.validation_input()) {
    check_out("--trace", arguments.trace, validation->files(), {});
  }
  const auto& save = trainer.config().save;
  if (save && (same_file(arguments.trace, save->file) || same_file(arguments.trace, save->last_file()))) {
    throw UsageError(cat("--trace ", quote(arguments.trace, 4096), " is the file that the model is saved to"), {},
                     "give it another name");
  }
  if (arguments.resume && same_file(arguments.trace, *arguments.resume)) {
    throw UsageError(cat("--trace ", quote(arguments.trace, 4096), " is the file of --resume"), {},
                     "give it another name");
  }
  const auto& checkpoint = trainer.config().checkpoint;
  if (checkpoint && is_among_checkpoints(arguments.trace, checkpoint->dir)) {
    throw UsageError(cat("--trace ", quote(arguments.trace, 4096), " has a name as the checkpoints beside it"), {},
                     "give it another name");
  }
  const auto log = log_file(trainer);
  if (log && same_file(arguments.trace, *log)) {
    throw UsageError(cat("--trace ", quote(arguments.trace, 4096), " is the file of the key log.json"), {},
                     "give it another name");
  }
  check_writable(arguments.trace);
}

// Writes the file of --trace, if the option is given. Throws IoError.
void keep_trace(const Trace& trace, const TrainArguments& arguments) {
  if (arguments.trace.empty()) return;
  write_trace(trace, arguments.trace);
  if (trace.dropped() == 0 || arguments.quiet) return;
  write_to_stderr(cat("warning: the trace has no room for ", count_of(static_cast<int64_t>(trace.dropped()), "event"),
                      ": it shows only the beginning\n"));
}

// Goes on from a checkpoint if --resume is given and there is one.
bool resume(Trainer& trainer, const TrainArguments& arguments) {
  if (const auto log = log_file(trainer)) trainer.appends_to(*log);
  if (!arguments.resume) return false;
  const Config& config = trainer.config();
  if (!config.checkpoint) {
    throw config.written.error("--resume needs the key checkpoint", "for example checkpoint: {dir: runs/mlp}");
  }
  return trainer.resume(*arguments.resume).has_value();
}

// The model was written, but checkpoints or lines of the log may be missing, and the exit code must tell. Returns
// whether anything is missing.
bool tell_what_failed(const CheckpointSummary& checkpoints, const JsonLog& log) {
  std::string text;
  if (checkpoints.failed > 0) {
    text += cat("error: ", count_of(checkpoints.failed, "checkpoint"), " could not be written: ", checkpoints.failure,
                '\n');
  }
  if (!log.failure().empty()) text += cat("error: the log lacks lines: ", log.failure(), '\n');
  write_to_stderr(text);
  return !text.empty();
}

// Writes the trace even though the training failed: then it is most useful. Only the first failure is reported.
void keep_trace_anyway(const Trace& trace, const TrainArguments& arguments) noexcept {
  try {
    keep_trace(trace, arguments);
  } catch (...) {
  }
}

// The log ends with the failure's event, like the output of --json.
void log_failure(JsonLog& log) noexcept {
  try {
    std::rethrow_exception(reported(std::current_exception()));
  } catch (const Error& error) {
    try {
      (void)log.write(failure_event(error));
    } catch (...) {  // no memory for the event
    }
  } catch (...) {
  }
}

int run_train(const TrainArguments& arguments, Session& session) {
  take_fault_point();
  std::atomic<bool> asked_early{false};  // for a checkpoint, while the training was being made
  const auto starting = session.signals.while_asked([&asked_early] { asked_early = true; });
  Trace trace;
  const Catalog catalog = read_catalog(arguments);
  const auto heeded = [&](const Spec& config) {
    Spec out = with_save(config, arguments.save);
    out.erase("compare");
    return out;
  };
  Trainer trainer = Trainer::from_spec(with_save(read_configuration(arguments, catalog, heeded), arguments.save),
                                       catalog, arguments.trace.empty() ? nullptr : &trace);
  check_trace(arguments, trainer);
  check_log(trainer);
  const bool resumed = resume(trainer, arguments);
  Progress progress(progress_style(arguments));
  JsonLog log(log_file(trainer).value_or(""), resumed);
  Reporter reporter(arguments, session, trainer, progress, log);
  // The guards live until everything is written: until then, a signal must not end the program.
  const auto running = session.signals.while_running([&trainer, &progress] {
    progress.stopping();
    trainer.stop();
  });
  const auto asked = session.signals.while_asked([&reporter] { reporter.ask_for_checkpoint(); });
  if (asked_early) reporter.ask_for_checkpoint();
  TrainResult result;
  try {
    result = trainer.run(reporter.callbacks(resumed));
    reporter.answer();
    progress.end();
    const Diagnosis diagnosis = diagnose(trainer.config(), catalog.ops, result);
    const std::string done = done_event(result, diagnosis);
    (void)log.write(done);
    reporter.write(arguments.json
                       ? done
                       : folded_for(STDOUT_FILENO, result_text(result, diagnosis_text(diagnosis, result.delivery))));
  } catch (...) {
    progress.end();
    keep_partial(trainer);
    log_failure(log);
    keep_trace_anyway(trace, arguments);
    throw;
  }
  if (reporter.unwritten()) {
    keep_trace_anyway(trace, arguments);
  } else {
    keep_trace(trace, arguments);
  }
  if (tell_what_failed(result.checkpoints, log)) return kExitIo;
  if (reporter.unwritten()) std::rethrow_exception(reporter.unwritten());
  return result.reason == "stopped" ? exit_code_of_signal(session.signals.received()) : static_cast<int>(kExitDone);
}

int run_version(Session& session) {
  const BuildDescription build = describe_build();
  std::string features;
  for (const std::string& feature : build.processor) features += ' ' + feature;
  session.out.write(cat("trainer (millrace) ", version(), "\nbuild: ", build.build_type, ", ", build.compiler,
                        "\ncuda: ", build.cuda.empty() ? "built without" : build.cuda, "\nprocessor:",
                        features.empty() ? " baseline" : features, "\nlibraries: ", join(build.libraries, ", "), '\n'));
  return kExitDone;
}

int run_root(const RootArguments& arguments, Session& session) {
  return arguments.version ? run_version(session) : run_train(arguments, session);
}

}  // namespace

Command root_command() { return make_command(kProgramText, run_root); }
Command train_command() { return make_command(kTrainText, run_train); }

}  // namespace millrace::cli
