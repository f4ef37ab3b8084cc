// Validation: handles the key `validation` of a training: reads the validation's rows, judges the model by them and
// remembers the best model.
//
//   Validation validation({.config = config, ..});
//   if (auto report = validation.run(step, epoch)) ...
//   validation.put_back_best();
//
// run() changes neither the model nor anything else that the training depends on. One thread uses a Validation; stop()
// may be called from any thread. The objects that its arguments refer to must outlive it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/context.h"
#include "millrace/core/threads/stop_gate.h"
#include "millrace/input/graph/pipeline.h"
#include "millrace/layers/model/model.h"
#include "millrace/trainer/config/config.h"
#include "millrace/trainer/input/pass_input.h"
#include "millrace/trainer/predict/predict_plan.h"
#include "millrace/trainer/step/model_copy.h"
#include "millrace/trainer/step/training_part.h"
#include "millrace/trainer/trainer.h"

namespace millrace {

// The least time between two reports of progress.
inline constexpr std::chrono::milliseconds kProgressInterval{100};

struct ValidationArgs {
  const Config& config;  // with a validation
  const OpRegistry& registry;
  Model& model;
  Context& context;
  const Spec* found = nullptr;                 // in the training's data (PassArgs::found)
  std::shared_ptr<Workers> workers = nullptr;  // the training's
  std::function<void(std::string_view)> on_print = {};
};

class Validation final : public TrainingPart {
 public:
  // Builds and checks the graph. Throws what InputGraph::build() throws, and ConfigError when the graph's rows do not
  // fit the model, the loss or a metric.
  explicit Validation(const ValidationArgs& args);
  Validation(const Validation&) = delete;
  Validation& operator=(const Validation&) = delete;

  // The input of run(), as it was when the Validation was made.
  const InputGraph& input() const { return graph_; }
  // Which ops of the list a pass leaves out, and the graph's warnings.
  const std::vector<std::string>& warnings() const { return warnings_; }
  uint64_t memory_bound();

  // Makes what the first run() needs, ahead of time.
  void prepare() { plan_->prepare(graph_.output().batch_size); }
  // Reads every row again, and reports its progress to `tell`. Returns nothing if it was stopped: then it does not
  // count. Throws the same errors about data as a training.
  using Tell = std::function<void(const ValidationProgress&)>;
  std::optional<ValidationReport> run(int64_t step, uint64_t epoch, const Tell& tell = {});
  // The step of the last run(), or -1.
  int64_t validated() const { return validated_; }
  // Whether `patience` has run out.
  bool gave_up() const { return options_.patience && without_improvement_ >= *options_.patience; }
  // With keep_best: whether a validation had finite values.
  bool has_best() const { return best_ && best_model_; }
  // With keep_best: gives the model the parameters and states of the best validation, and returns that validation.
  // Returns nothing, and changes nothing, if no validation had finite values.
  std::optional<BestStep> put_back_best();

  // As a TrainingPart it lists the best model, if there is one, as "best/<parameter or state>".
  void save(State& state) override;
  void restore(const State& state) override;
  void list(std::vector<NamedTensor>& out, bool all) override;

  // Makes run() return soon, also a later call of run(). Idempotent.
  void stop() noexcept;

 private:
  PassArgs pass_args() const;
  InputGraph build(std::shared_ptr<Workers> workers) const;
  std::optional<InputGraph> build_again();
  void make_plan();
  bool read_rows(int64_t step, const Tell& tell);
  void judge(ValidationReport& report);

  const ValidationArgs args_;
  const ValidationOptions& options_;
  const PassInput pass_;
  const InputGraph graph_;
  std::vector<std::string> warnings_;
  std::optional<PredictPlan> plan_;
  std::optional<ModelCopy> best_model_;  // with keep_best

  int64_t validated_ = -1;
  std::optional<BestStep> best_;
  int64_t without_improvement_ = 0;

  std::atomic<bool> stopped_{false};
  StopGate gate_;  // open while a graph is built, and while a pipeline runs
};

}  // namespace millrace
