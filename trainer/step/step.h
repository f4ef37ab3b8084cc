// TrainStep: what happens to one batch: forward, loss, metrics, backward, and an update after every batch or after
// several. It is planned once for each batch size.
//
//   TrainStep step({.model = model, .context = context, .loss = *loss, .optimizer = *sgd, .rows = rows});
//   while (const RowBlock* batch = delivery.next()) step.run(*batch);
//
// On CUDA run() returns before the batch was trained on. After the first few batches a step is launched as one graph
// (core/replay.h), by itself or together with other steps (trainer/step/flights.h). Functions that give results wait
// for them. run() allocates nothing once it has seen a batch size and launched several steps of it together. The
// gradients go straight into the parameters if the optimizer allows it and no GradientOptions need them. Plans for at
// most kMaxPlans sizes are kept; the least recently used one is dropped first. One thread uses a TrainStep; everything
// in StepArgs must outlive it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "millrace/core/context.h"
#include "millrace/input/rows/row_block.h"
#include "millrace/layers/gradients/gradient_rules.h"
#include "millrace/layers/loss.h"
#include "millrace/layers/model/model.h"
#include "millrace/layers/optimizer.h"
#include "millrace/trainer/step/scores.h"

namespace millrace {

struct StepRunner;

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

// What happened with a batch.
enum class StepOutcome : uint8_t {
  trained,
  // Nothing was trained on the batch; only with GradientOptions::check_finite.
  loss_not_finite,
  // Nothing was trained on the batches of this update; only with GradientOptions::check_finite.
  gradient_not_finite,
};

class TrainStep {
 public:
  static constexpr size_t kMaxPlans = 8;
  // How many batch sizes a training has: the full one and the last batch's.
  static constexpr size_t kBatchSizes = 2;

  // Throws ConfigError when the rows lack a field or the loss does not fit the model; it names both sides.
  explicit TrainStep(const StepArgs& args);
  ~TrainStep();
  TrainStep(const TrainStep&) = delete;
  TrainStep& operator=(const TrainStep&) = delete;

  // Makes what a batch of `rows` rows needs, ahead of time.
  void prepare(int64_t rows);
  // Trains on the batch. Throws DataError for a value that makes no sense (layers/layer.h), with nothing trained; its
  // row is error_row(). If the device is busy, the step may be launched only by a later call: so ask model() for the
  // model.
  StepOutcome run(const RowBlock& batch);
  // The model after all batches so far; on a device, it is so once the context has done what it was given.
  Model& model();
  // Updates with the batches since the last update, if several make one and the data ended in between.
  StepOutcome flush();

  // Loss and metrics of the last batch, or of the window; both functions wait for the device. The loss of a window in
  // which no row counted is NaN. Metrics of a batch are computed when they are asked for, even if the batch itself is
  // gone. REQUIRES: run() was called.
  double loss();
  const std::vector<double>& metrics();  // in the order of StepArgs::metrics
  void start_window();
  // The loss of the last batch, also if there are windows.
  double batch_loss();

  // Batches taken, and updates made.
  uint64_t steps() const;
  uint64_t updates() const;
  // Batches that were not followed by an update because the loss or the gradient was not finite.
  uint64_t skipped() const;
  // Counts on from the numbers of an earlier training: draws and schedules go on where that training ended.
  void resume(uint64_t steps, uint64_t updates);
  // The optimizer's state, as of model(): Optimizer::state_slots() blocks laid out like the model's parameter block.
  const std::vector<TensorView>& slots();

  // Whether the step of the last batch that was trained on ran as recorded graphs, except an update whose gradient is
  // checked first.
  bool recorded() const;
  // How often several steps went in one launch.
  uint64_t groups() const;
  // Why some steps cannot be recorded or go together, although the device can do that; empty if nothing failed.
  const std::string& not_recorded() const;
  // The row that the error of the last run() is about, or -1.
  int64_t error_row() const;
  // Bytes of the optimizer's state, the gradients and all plans, on the device and on the host, at most.
  size_t bytes() const;
  // The same for a training on batches of `rows` rows and a smaller last one, with prepare() or without. Plans the full
  // size.
  size_t memory_bound(int64_t rows);

 private:
  std::unique_ptr<StepRunner> runner_;
};

}  // namespace millrace
