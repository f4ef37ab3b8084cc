// StepRunner: what a TrainStep does. It has two forms: InlineStep (inline_step.cpp), in which each call does its work
// before it returns, as on the CPU, and FlyingStep (flying_step.cpp), in which the device works on a batch while the
// host works on the next one. The pieces of a step, which both put together, are here. They only give work to the
// context.
//
// Members that TrainStep has, too, do what step.h says. One thread uses a StepRunner; what StepArgs refer to must
// outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "millrace/trainer/step/model_copy.h"
#include "millrace/trainer/step/parameter_update.h"
#include "millrace/trainer/step/plan_cache.h"
#include "millrace/trainer/step/step.h"
#include "millrace/trainer/step/step_inputs.h"
#include "millrace/trainer/step/step_plan.h"

namespace millrace {

struct StepRunner {
  // `places`: batches that may be under way.
  StepRunner(const StepArgs& step_args, size_t places);
  virtual ~StepRunner() = default;
  StepRunner(const StepRunner&) = delete;
  StepRunner& operator=(const StepRunner&) = delete;

  virtual StepOutcome run(const RowBlock& batch) = 0;
  virtual StepOutcome flush();
  virtual void start_window() { scores.reset(); }
  // Launches the steps that still wait.
  virtual void settle() {}
  // Waits until all batches were trained on, and joins their scores.
  virtual void finish() {}
  size_t bytes_beside_plans() const;
  const std::vector<double>& metrics();

  // The plan for a number of rows.
  StepPlan& plan_for(int64_t rows);

  // The pieces, in the order of a step.
  // Brings the batch to a slot, and the numbers of its step.
  void load(Context& loads, StepPlan::Slot& to, const RowBlock& batch);
  // From here on, everything below is about the batch that was loaded into `in`.
  void begin(StepPlan& of, StepPlan::Slot& in);
  void forward();
  void score();
  void fetch(Context& fetches) { scores.fetch(fetches, *plan->scores, windows(), slot->scores); }
  bool loss_is_fine() const;
  // Skips a batch whose loss is not finite.
  StepOutcome skip_batch();
  // Also makes the update if the batch completes one and the gradients need not be checked first.
  void backward();
  // Counts the batch and its update; if gradients are to be checked, checks them and makes the update here.
  StepOutcome end_batch();

  bool windows() const { return args.window_batches > 0; }
  bool in_place() const { return args.optimizer.adds_scaled_gradient() && !args.gradients.any(); }

  StepArgs args;
  StepFields fields;
  Scores scores;

  Memory gradients;  // laid out like the parameter block; empty when backward updates in place
  GradientRules rules;
  // The layers' states before the running batch, and before the first batch of its update; only if batches may be
  // skipped.
  std::optional<StateCopy> state_before_batch, state_before_update;
  ParameterUpdate parameter_update;

  // What layers and optimizer count.
  uint64_t forward_passes = 0, updates = 0, skipped = 0;
  int64_t error_row = -1;
  // Whether the last step ran as it was recorded, how often several went together, and why some cannot.
  bool recorded = false;
  uint64_t groups = 0;
  std::string not_recorded;

  // These belong to the last batch; null before the first one.
  StepPlan* plan = nullptr;
  StepPlan::Slot* slot = nullptr;
  bool judged = false;  // its metrics were computed

  size_t slots;
  PlanCache<StepPlan> plans;  // last: the plans' recordings refer to the other members

 private:
  std::unique_ptr<StepPlan> make_plan(int64_t rows);
  TensorView gradient_block() const;
  void apply_update(const float* scale);
  StepOutcome judge_update();
  StepOutcome end_update();
};

}  // namespace millrace
