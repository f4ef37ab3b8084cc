// TrainStep: the work on one batch: forward, loss, metrics, backward, and an update after every batch or after several.
// It is planned once for each batch size.
//
//   const auto step = TrainStep::make({.model = model, .context = context, .loss = *loss, .optimizer = *sgd, ..});
//   while (const RowBlock* batch = delivery.next()) step->run(*batch);
//
// A TrainStep does its work before a call returns, as on the CPU. On CUDA make() gives a FlyingStep, which puts the
// same pieces together in another way: run() returns before the batch was trained on. After the first few batches a
// step is launched as one graph (core/replay.h), by itself or together with other steps (trainer/step/flights.h).
// Functions that give results wait for them. run() allocates nothing once it has seen a batch size and launched several
// steps of it together. The gradients go straight into the parameters if the optimizer allows it and no GradientOptions
// need them. Plans for at most kMaxPlans sizes are kept; the least recently used one is dropped first. One thread uses
// a TrainStep; everything in StepArgs must outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "millrace/core/context.h"
#include "millrace/input/rows/row_block.h"
#include "millrace/layers/gradients/gradient_rules.h"
#include "millrace/layers/loss.h"
#include "millrace/layers/model/model.h"
#include "millrace/layers/optimizer.h"
#include "millrace/trainer/step/model_copy.h"
#include "millrace/trainer/step/parameter_update.h"
#include "millrace/trainer/step/plan_cache.h"
#include "millrace/trainer/step/scores.h"
#include "millrace/trainer/step/state_check.h"
#include "millrace/trainer/step/step_inputs.h"
#include "millrace/trainer/step/step_plan.h"
#include "millrace/trainer/step/training_part.h"

namespace millrace {

struct StepArgs {
  Model& model;
  Context& context;
  const Loss& loss;
  const Optimizer& optimizer;
  const RowSpec& rows;          // of the batches
  std::string label = "label";  // the field that the loss reads
  std::string weight = {};      // the field of row weights; empty: none
  const std::vector<NamedMetric>* metrics = nullptr;
  GradientOptions gradients = {};
  // The most batches from one start_window() to the next; loss() and metrics() are then over all of these. 0: they are
  // over the last batch only.
  int64_t window_batches = 0;
  // How many batches a device may be behind. A batch that run() was given must stay as it is until so many calls of
  // run(), including its own, have returned; with more than one, batches are copied while others are trained on. On the
  // CPU a batch may change when run() has returned. With 8, steps may go together (trainer/step/flights.h).
  int64_t batches_in_flight = 1;
  // Every run() is given the same batch, which never changes, so it is copied to each place on the device only once.
  bool one_batch = false;
};

// The result for a batch.
enum class StepOutcome : uint8_t {
  trained,
  // Nothing was trained on the batch; only with GradientOptions::check_finite.
  loss_not_finite,
  // The same: the batch would have made a state of a layer, such as a running mean, infinite or NaN.
  state_not_finite,
  // Nothing was trained on the batches of this update; only with GradientOptions::check_finite.
  gradient_not_finite,
  // Never the result of run() or look(), which do not look at the optimizer: see optimizer_is_finite().
  optimizer_not_finite,
};

class TrainStep : public TrainingPart {
 public:
  static constexpr size_t kMaxPlans = 8;
  // How many batch sizes a training has: the full one and the last batch's.
  static constexpr size_t kBatchSizes = 2;

  // The step for the context's device. Throws ConfigError when the rows lack a field or the loss does not fit the
  // model; it names both sides.
  static std::unique_ptr<TrainStep> make(const StepArgs& args);
  virtual ~TrainStep() = default;
  TrainStep(const TrainStep&) = delete;
  TrainStep& operator=(const TrainStep&) = delete;

  // Makes what a batch of `rows` rows needs, ahead of time.
  void prepare(int64_t rows) { plan_for(rows); }
  // Trains on the batch. Throws RowError for a value that makes no sense (layers/layer.h), with nothing trained. If the
  // device is busy, the step may be launched only by a later call: so ask model() for the model.
  virtual StepOutcome run(const RowBlock& batch);
  // The model after all batches so far; on a device, it is so once the context has done what it was given.
  Model& model();
  // Updates with the batches since the last update, if several make one and the data ended in between.
  virtual StepOutcome flush();

  // Loss and metrics of the last batch, or of the window; both functions wait for the device. If no row counted, they
  // are NaN. Metrics of a batch are computed when they are asked for, even if the batch itself is gone. REQUIRES: there
  // was a batch, here or in the training that was restored.
  double loss();
  const MetricValues& metrics();  // in the order of StepArgs::metrics
  virtual void start_window() { scores_.reset(); }
  // The loss of the last batch, also if there are windows.
  double batch_loss();
  // Tells what is not finite now: the loss of the last batch, if rows counted, or a state; `trained` if both are
  // finite. Waits for the device. REQUIRES: as loss().
  StepOutcome look();
  // Whether the optimizer's state is finite now. It reads all of it, and waits for the device.
  bool optimizer_is_finite();
  // The state that run() or look() found last, such as "batch_norm.variance".
  const std::string& state_not_finite() const { return state_not_finite_; }

  // One row of the label as the loss reads it.
  const TensorSpec& label() const { return fields_.label(); }
  // Batches taken, and updates made.
  uint64_t steps() const { return steps_; }
  uint64_t updates() const { return updates_; }
  // Batches that were not followed by an update because something was not finite.
  uint64_t skipped() const { return skipped_; }
  // Counts on from the numbers of an earlier training: draws and schedules go on where that training ended.
  void resume(uint64_t steps, uint64_t updates);
  // The optimizer's state, as of model(): Optimizer::state_slots() blocks laid out like the model's parameter block.
  const std::vector<TensorView>& slots();

  // As a TrainingPart it lists the model's parameters and states, the optimizer's state as
  // "optimizer/<slot>/<parameter>" and, in the middle of an update, "gradients/<parameter>" and, if steps may be
  // skipped, "before/<state>": the states before the update.
  void save(State& state) override;
  void restore(const State& state) override;
  void list(std::vector<NamedTensor>& out, bool all) override;
  // For batches of any size that was planned.
  uint64_t state_bound() const override { return scores_.bytes(); }

  // Whether the step of the last batch that was trained on ran as recorded graphs, except an update whose gradient is
  // checked first.
  bool recorded() const { return recorded_; }
  // How often several steps went in one launch.
  uint64_t groups() const { return groups_; }
  // Why some steps cannot be recorded or go together, although the device can do that; empty if nothing failed.
  const std::string& not_recorded() const { return not_recorded_; }
  // Bytes of the optimizer's state, the gradients and all plans, on the device and on the host, at most.
  size_t bytes() const { return bytes_beside_plans() + plans_.bytes(); }
  // The same for a training on batches of `rows` rows and a smaller last one, with prepare() or without. Plans the full
  // size.
  size_t memory_bound(int64_t rows);

 protected:
  // `places`: batches that may be under way.
  TrainStep(const StepArgs& args, size_t places);

  // Launches the steps that still wait.
  virtual void settle() {}
  // Waits until all batches were trained on, and joins their scores.
  virtual void finish() {}
  StepPlan& plan_for(int64_t rows);

  // The pieces, in the order of a step. They only give work to the context.
  // Brings the batch to a slot, and the numbers of its step.
  void load(Context& loads, StepPlan::Slot& to, const RowBlock& batch);
  // The functions below are then about the batch that was loaded into `in`.
  void begin(StepPlan& of, StepPlan::Slot& in);
  void forward();
  void score();
  void fetch(Context& fetches);
  // With GradientOptions::check_finite: the loss or the state that is not finite. Then the batch is skipped.
  StepOutcome check();
  // Also makes the update if the batch completes one and the gradients need not be checked first.
  void backward();
  // Counts the batch and its update; if gradients are to be checked, checks them and makes the update here.
  StepOutcome end_batch();

  bool windows() const { return args_.window_batches > 0; }

  const StepArgs args_;
  const size_t places_;
  StepFields fields_;
  Scores scores_;
  GradientRules rules_;

  uint64_t steps_ = 0, updates_ = 0, skipped_ = 0, groups_ = 0;
  bool recorded_ = false;
  std::string not_recorded_;

  // The plan and the slot of the last batch; null before the first one.
  StepPlan* plan_ = nullptr;
  StepPlan::Slot* slot_ = nullptr;

 private:
  bool in_place() const {
    return !args_.gradients.any() && attributed(args_.optimizer, &Optimizer::adds_scaled_gradient);
  }
  std::unique_ptr<StepPlan> make_plan(int64_t rows);
  void make_gradients();
  TensorView gradient_block() const;
  void apply_update(const float* scale);
  Scores::BatchLoss last_loss() const;
  void judge_last();
  StepOutcome found();
  StepOutcome make_update();
  StepOutcome end_update();
  size_t bytes_beside_plans() const;

  Memory gradients_;  // laid out like the parameter block; empty when backward updates in place
  // The layers' states before the running batch, and before the first batch of its update; only if batches may be
  // skipped.
  std::optional<ModelCopy> state_before_batch_, state_before_update_;
  ParameterUpdate parameter_update_;
  StateCheck state_check_;
  std::string state_not_finite_;
  bool judged_ = false;  // the metrics of the last batch were computed
  // After a restore: the loss of the saved training's last batch, and the numbers for an update before the first batch
  // here.
  std::optional<Scores::BatchLoss> restored_loss_;
  std::optional<StepNumbers> restored_numbers_;
  PlanCache<StepPlan> plans_;  // last: the plans' recordings refer to the other members
};

}  // namespace millrace
