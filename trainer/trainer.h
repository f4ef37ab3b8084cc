// Trainer: from a configuration to a trained model, in this process.
//
//   millrace::Trainer trainer = millrace::Trainer::from_file("mlp.yaml");
//   millrace::TrainResult result = trainer.run();   // saves the model where the configuration says so
//   trainer.save("model.safetensors");
//
// One thread uses a Trainer; stop() may be called from any thread, but not from a signal handler: it takes locks. A
// program that ends a training on a signal sets a flag in the handler and calls stop() from on_step or on_progress, or
// gives the signal to a thread of its own (signalfd, sigwait). Several trainers may live in one process. Nothing is
// printed: reports go to callbacks, failures are Errors.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/core/spec.h"
#include "millrace/input/graph/pipeline.h"
#include "millrace/layers/model/model.h"
#include "millrace/trainer/catalog.h"
#include "millrace/trainer/config.h"
#include "millrace/trainer/validator.h"

namespace millrace {

struct StartReport {
  std::string device;
  int threads = 0;
  int64_t parameters = 0;
  int64_t batch_size = 0;
  std::optional<int64_t> steps;  // absent: until the data ends
};

struct StepReport {
  int64_t step = 0;    // counted from 1
  uint64_t epoch = 0;  // counted from 1: the pass of the newest row
  int64_t batch_size = 0;
  double loss = 0;        // of this batch, or with train.report_over: window of all since the report before
  MetricValues metrics;   // likewise
  double rows_per_s = 0;  // since the report before
  double input_wait = 0;  // share of the time since the report before in which the step waited for input
  double seconds = 0;     // since the start
};

struct TrainResult {
  std::string reason;  // "end of data", "steps", "no improvement" or "stopped"
  int64_t steps = 0;
  // Of these, steps that no update followed, as loss or gradient were not finite (train.on_nonfinite: skip).
  int64_t skipped_steps = 0;
  uint64_t rows = 0;
  uint64_t epochs = 0;
  double seconds = 0;
  int64_t last_batch = 0;  // rows of it; 0 when there was none
  bool window = false;     // loss and metrics are over the last window (train.report_over), not of the last batch alone
  double loss = 0;         // NaN when there was no step
  MetricValues metrics;
  // With validation.keep_best: whose parameters the model has, unless no validation had a number.
  std::optional<BestStep> best;
  std::string weights;  // sha-256 over the parameters in model order, little-endian f32
  std::string saved;    // the file of the key `save`; empty: the model was not saved
  double input_wait = 0;
  InputSummary input;
};

// Called on the thread of run(), in the default floating-point mode.
struct TrainCallbacks {
  std::function<void(const StartReport&)> on_start = {};
  std::function<void(const StepReport&)> on_step = {};      // every log_every steps
  std::function<void(const StepReport&)> on_progress = {};  // at most about ten times a second
  std::function<void(const ValidationReport&)> on_validation = {};
  std::function<void(std::string_view)> on_log = {};  // warnings, bad rows, lines of `print`
};

class Trainer {
 public:
  // Read, checked and built, nothing run yet. Throws every error that can be known before the first step: also for a
  // file of the key `save` that could not be written.
  static Trainer from_file(const std::string& path, std::span<const std::string> overrides = {},
                           const Catalog& catalog = Catalog::builtin());
  static Trainer from_spec(Spec config, const Catalog& catalog = Catalog::builtin());
  Trainer(Trainer&&) noexcept;
  Trainer& operator=(Trainer&&) noexcept;
  ~Trainer();

  const Config& config() const;
  Model& model();
  const InputGraph& input() const;
  // What a validation reads; nullptr without the key `validation`.
  const InputGraph* validation_input() const;
  // Things that are allowed but unlikely to be meant.
  const std::vector<std::string>& warnings() const;
  // Bytes of input graph, batches, model and plans at most (P5): the same before, during and after run(). Beside them
  // stands a fixed part: the configuration, threads, and what libraries keep for themselves.
  uint64_t memory_bound() const;

  // Trains until the data or train.steps end, or validation.patience, or stop(), then saves the model where the key
  // `save` is set. Once: a second call throws InternalError, also when the first one failed. When an error is thrown,
  // the model is as the last finished step left it, and steps() says how many there were.
  TrainResult run(const TrainCallbacks& callbacks = {});
  int64_t steps() const;
  // Ends run() after the step that runs now, or in the middle of a validation, which then does not count, and without
  // another one; callbacks may call it too. Idempotent.
  void stop() noexcept;

  // Writes the model with its resolved configuration to a temporary file, syncs and renames it.
  void save(const std::string& path);

 private:
  struct Impl;
  explicit Trainer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace
