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
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/export.h"
#include "millrace/core/spec.h"
#include "millrace/input/graph/pipeline.h"
#include "millrace/layers/model/model.h"
#include "millrace/trainer/config/catalog.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/predict/network.h"
#include "millrace/trainer/train_report.h"

namespace millrace {

class Trace;

class MILLRACE_EXPORT Trainer {
 public:
  // Read, checked and built, nothing run yet. Throws every error that can be known before the first step: also for a
  // file of the key `save` that could not be written. `trace` is told what the training does when, and outlives the
  // Trainer; see core/trace.h.
  static Trainer from_file(const std::string& path, std::span<const std::string> overrides = {},
                           const Catalog& catalog = Catalog::builtin(), Trace* trace = nullptr);
  // The same for a YAML text; `name` stands for the file in messages.
  static Trainer from_string(std::string_view text, const std::string& name,
                             std::span<const std::string> overrides = {}, const Catalog& catalog = Catalog::builtin(),
                             Trace* trace = nullptr);
  // With overrides written down: {"seed=24", "train.steps=100"}.
  static Trainer from_file(const std::string& path, std::initializer_list<std::string> overrides,
                           const Catalog& catalog = Catalog::builtin(), Trace* trace = nullptr) {
    return from_file(path, std::span(overrides.begin(), overrides.size()), catalog, trace);
  }
  static Trainer from_string(std::string_view text, const std::string& name,
                             std::initializer_list<std::string> overrides, const Catalog& catalog = Catalog::builtin(),
                             Trace* trace = nullptr) {
    return from_string(text, name, std::span(overrides.begin(), overrides.size()), catalog, trace);
  }
  // Of a configuration made in code, which is checked as one from a file; messages say where each value was set.
  static Trainer from_spec(Spec config, const Catalog& catalog = Catalog::builtin(), Trace* trace = nullptr);
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

  // Writes the model with its resolved configuration to a temporary file, syncs and renames it. With the optimizer's
  // state where the configuration has save: {file: .., optimizer: true}.
  void save(const std::string& path);
  // A copy of the model as it is now, to predict with.
  Network network(const NetworkOptions& options = {});

 private:
  struct Impl;
  explicit Trainer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace
