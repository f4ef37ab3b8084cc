// Trainer: trains a model in this process, as a configuration says. Its reports and its result are declared before it,
// write_trace() after it.
//
//   millrace::Trainer trainer = millrace::Trainer::from_file("mlp.yaml");
//   millrace::TrainResult result = trainer.run();   // saves the model if the configuration says so
//   trainer.save("model.safetensors");
//
// One thread uses a Trainer; stop() may be called from any thread, but not from a signal handler: it takes locks. A
// program that ends a training on a signal sets a flag in the handler and calls stop() from on_step or on_progress, or
// it receives the signal in a thread that does nothing else (signalfd, sigwait). Several trainers may live in one
// process. Nothing is printed: reports go to callbacks, failures are Errors.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/export.h"
#include "millrace/core/spec.h"
#include "millrace/input/graph/pipeline.h"
#include "millrace/layers/loss.h"
#include "millrace/trainer/config/catalog.h"
#include "millrace/trainer/predict/network.h"

namespace millrace {

class Trace;

// The reports of a training while it runs; each has its own callback.
struct StartReport {
  std::string device;
  int threads = 0;
  int64_t parameters = 0;
  int64_t batch_size = 0;
  std::optional<int64_t> steps = {};  // absent: until the data ends
  std::string weight = {};            // the field by which rows count in loss and metrics; empty: all count alike
};

struct StepReport {
  int64_t step = 0;    // counted from 1
  uint64_t epoch = 0;  // counted from 1: the pass of the newest row
  int64_t batch_size = 0;
  double loss = 0;        // of this batch; with train.report_over: window, of all since the previous on_step
  MetricValues metrics;   // likewise
  double rows_per_s = 0;  // since the previous on_step, or the start
  double input_wait = 0;  // share of the same time in which the step waited for input
  double seconds = 0;     // since the start
  // The share of the training that is done, from 0 to 1: of the steps or of the data (InputSummary::share), whichever
  // is more. Absent if neither is known. The training may end earlier (validation.patience).
  std::optional<double> done = {};
  uint64_t groups = 0;  // launches of several steps at once (CUDA), since the start
};

// A report of one step, after it has ended; `seconds` and `input` count from the start. It costs next to nothing, but
// on CUDA every step is then launched by itself.
struct BatchReport {
  int64_t step = 0;    // counted from 1
  int64_t rows = 0;    // of the batch
  int64_t queued = 0;  // batches that lie in the delivery's queue
  double seconds = 0;
  DeliveryTimes input;
};

struct ValidationReport {
  int64_t step = 0;    // the last one before the validation
  uint64_t epoch = 0;  // of that step
  uint64_t rows = 0;
  double loss = 0;       // over all rows
  MetricValues metrics;  // over all rows
  bool best = false;     // better than every validation before
  double seconds = 0;
};

// The progress of a validation that runs now.
struct ValidationProgress {
  int64_t step = 0;                 // the last one before the validation
  std::optional<double> done = {};  // the share of its rows, as InputSummary::share
};

// A training went on from a checkpoint.
struct ResumeReport {
  int64_t step = 0;  // the last one before the checkpoint
  std::string file;
  std::vector<std::string> warnings = {};  // about newer checkpoints that cannot be used
  std::vector<std::string> notes = {};     // allowed differences from the saved training
};

// A checkpoint is on the disk, with everything up to `step`.
struct CheckpointReport {
  int64_t step = 0;
  std::string file;
};

// The checkpoints of one run().
struct CheckpointSummary {
  int64_t written = 0;
  int64_t late = 0;  // fell due while another one was being written
  int64_t failed = 0;
  std::string failure = {};  // why the last failed one failed; empty: none failed
  std::string file = {};     // the newest one on the disk, also if the run went on from it
  uint64_t bytes = 0;        // of values in the last one
  double copy_seconds = 0;   // time that steps waited for copies, in all
  double write_seconds = 0;  // time for writing, on another thread
};

// The validation whose model is kept.
struct BestStep {
  int64_t step = 0;
  std::string metric;
  double value = 0;
};

struct TrainResult {
  std::string reason;  // "end of data", "steps", "no improvement" or "stopped"
  int64_t steps = 0;
  // How many of these steps were not followed by an update, because something was not finite (train.on_nonfinite:
  // skip).
  int64_t skipped_steps = 0;
  uint64_t rows = 0;
  uint64_t epochs = 0;  // the number of the newest pass with a row that was trained on, however far ahead the input is
  double seconds = 0;
  int64_t last_batch = 0;  // its number of rows; 0 if there was none
  bool window = false;     // loss and metrics are over the last window (train.report_over), not only the last batch
  double loss = 0;         // NaN if there was no step, or no row that counts
  MetricValues metrics;
  // With validation.keep_best: the validation whose parameters the model has; absent if none had finite values.
  std::optional<BestStep> best;
  std::string weights;  // sha-256 over the parameters in model order, little-endian f32
  std::string saved;    // the file of the key `save`; empty: the model was not saved
  // The file with the model of the last step, NAME.last.safetensors next to NAME.safetensors; empty unless a training
  // that was stopped saved the model of its best validation.
  std::string saved_last;
  double input_wait = 0;
  InputSummary input;
  DeliveryStatistics delivery;
  double validation_seconds = 0;  // the part of `seconds` that was spent on validations
  // The step that the run went on from; `steps` and `rows` count from the beginning of the training all the same.
  std::optional<int64_t> resumed;
  CheckpointSummary checkpoints;
  std::string device;
  bool recorded = false;  // the last step ran as recorded graphs (CUDA)
  int threads = 1;
};

// Called on the thread of run(), in the default floating-point mode. An exception of theirs ends run(), which throws it
// as it is; only from on_log an exception that is not an Error becomes an InternalError with its text.
struct TrainCallbacks {
  std::function<void(const StartReport&)> on_start = {};
  std::function<void(const BatchReport&)> on_batch = {};    // every step
  std::function<void(const StepReport&)> on_step = {};      // every log_every steps
  std::function<void(const StepReport&)> on_progress = {};  // at most about ten times a second
  std::function<void(const ValidationReport&)> on_validation = {};
  std::function<void(const ValidationProgress&)> on_validating = {};  // at most about ten times a second
  std::function<void(std::string_view)> on_log = {};                  // warnings, bad rows, lines of `print`
  // Called if the training was resumed: after on_start and the usual warnings, and before the notes.
  std::function<void(const ResumeReport&)> on_resume = {};
  std::function<void(const CheckpointReport&)> on_checkpoint = {};  // soon after it is on the disk
};

class Model;
struct Config;

class MILLRACE_EXPORT Trainer {
 public:
  // Reads, checks and builds; nothing runs yet. Throws every error that can be known before the first step, for example
  // that the file of the key `save` cannot be written. `trace` records what the training does and when; it must outlive
  // the Trainer. See core/trace.h.
  static Trainer from_file(const std::string& path, std::span<const std::string> overrides = {},
                           const Catalog& catalog = Catalog::builtin(), Trace* trace = nullptr);
  // The same for a YAML text; `name` stands for the file in messages.
  static Trainer from_string(std::string_view text, const std::string& name,
                             std::span<const std::string> overrides = {}, const Catalog& catalog = Catalog::builtin(),
                             Trace* trace = nullptr);
  // The same with a list of overrides: {"seed=24", "train.steps=100"}.
  static Trainer from_file(const std::string& path, std::initializer_list<std::string> overrides,
                           const Catalog& catalog = Catalog::builtin(), Trace* trace = nullptr) {
    return from_file(path, std::span(overrides.begin(), overrides.size()), catalog, trace);
  }
  static Trainer from_string(std::string_view text, const std::string& name,
                             std::initializer_list<std::string> overrides, const Catalog& catalog = Catalog::builtin(),
                             Trace* trace = nullptr) {
    return from_string(text, name, std::span(overrides.begin(), overrides.size()), catalog, trace);
  }
  // The same for a configuration that was made in code; messages say where each value was set.
  static Trainer from_spec(Spec config, const Catalog& catalog = Catalog::builtin(), Trace* trace = nullptr);
  Trainer(Trainer&&) noexcept;
  Trainer& operator=(Trainer&&) noexcept;
  ~Trainer();

  // The configuration with every default, as a saved model holds it.
  const Spec& resolved() const;
  // For the library itself: these types are not installed.
  const Config& config() const;
  Model& model();
  const InputGraph& input() const;
  // The input of a validation; nullptr without the key `validation`.
  const InputGraph* validation_input() const;
  // Things that are allowed but unlikely to be meant.
  const std::vector<std::string>& warnings() const;
  // An upper bound of the bytes of input graph, batches, model and plans: the same before, during and after run(). It
  // leaves out a fixed part: the configuration, threads, and what libraries keep for themselves.
  uint64_t memory_bound() const;

  // With the key `checkpoint`: makes run() go on from the newest whole checkpoint of the key's folder, or from `file`.
  // Returns nothing, and changes nothing, if `file` is empty and there is no checkpoint: run() then begins anew. Call
  // it at most once, before run(). Throws ConfigError without the key, if another training uses the folder, if the
  // configuration has a difference that is not allowed (docs/checkpoints.md), and if run() would write `file`;
  // DataError if no checkpoint can be used.
  std::optional<ResumeReport> resume(const std::string& file = {});
  // With the key `checkpoint`: run() writes one after the step that runs now, and goes on. Without the key it does
  // nothing. Any thread may call it, and callbacks may.
  void checkpoint() noexcept;
  // Names a file to which the program appends while run() runs. Checkpoints record its length between two steps, and
  // resume() cuts it to the recorded length, so that no line is in it twice or missing. Appended text must have reached
  // the system (fflush) when a callback returns. Call it before resume().
  void appends_to(const std::string& path);

  // Trains until the data end, train.steps are done, validation.patience has run out or stop() is called; then saves
  // the model if the key `save` is set. If it was stopped and the model is the one of its best validation, the model of
  // the last step is saved, too (TrainResult::saved_last). With the key `checkpoint` the state of the training is
  // written meanwhile, and at the end; without resume(), a folder that holds checkpoints is a ConfigError. Only once: a
  // second call throws CallError, also when the first one failed. After an error, the model is as the last finished
  // step left it, and steps() is the number of finished steps.
  TrainResult run(const TrainCallbacks& callbacks = {});
  int64_t steps() const;
  // After a run() that failed: gives the model the parameters of the best validation, and returns that validation.
  // Returns nothing, and changes nothing, without validation.keep_best or if no validation had finite values.
  std::optional<BestStep> put_back_best();
  // Ends run() after the step that runs now; with the key `checkpoint`, after the step whose batch is being made. A
  // validation that runs now is cut short and does not count, and no other validation follows. Callbacks may call it,
  // too. Idempotent.
  void stop() noexcept;

  // Writes the model with its resolved configuration to a temporary file, syncs and renames it. The optimizer's state
  // is written, too, if the configuration has save: {file: .., optimizer: true}.
  void save(const std::string& path);
  // A copy of the model as it is now, to predict with.
  Network network(const NetworkOptions& options = {});

 private:
  struct Impl;
  explicit Trainer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Writes the events of `trace` so far to a file (see core/trace.h), which appears whole or not at all. Throws IoError.
MILLRACE_EXPORT void write_trace(const Trace& trace, const std::string& path);

}  // namespace millrace
