// TrainStep: what happens to one batch: forward, loss, metrics, backward, and an update behind every batch or every
// few. Planned once per batch size.
//
//   TrainStep step({.model = model, .context = context, .loss = *loss, .optimizer = *sgd, .rows = rows});
//   while (const RowBlock* batch = delivery.next()) step.run(*batch);
//
// On CUDA run() returns before the batch was trained on, and soon a step is one graph (core/replay.h), or one of a few
// that go in one launch (trainer/step/flights.h); what asks for results waits for them. run() allocates nothing once a
// batch size was seen and several of it went together. The gradients go straight into the parameters where the
// optimizer allows it and no GradientOptions need them. At most kMaxPlans sizes are kept, the least recently used goes
// first. One thread uses a TrainStep; everything in StepArgs must outlive it.
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
  // Batches from one start_window() to the next, at most, where loss() and metrics() are over all of them and not of
  // the last one alone; 0: of the last one.
  int64_t window_batches = 0;
  // How many batches a device may be behind with. A batch that run() was given must stay as it is until that many calls
  // of run(), that one included, have returned; with more than one, batches are copied while others are trained on. On
  // the CPU a batch may change when run() has returned. With 8, steps may go together (trainer/step/flights.h).
  int64_t batches_in_flight = 1;
  // Every run() is given the same batch, which never changes: each place on the device takes it once.
  bool one_batch = false;
};

// What came of a batch.
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
  // Sizes of the batches of one training: the full one and that of the last batch.
  static constexpr size_t kBatchSizes = 2;

  // Throws ConfigError when the rows lack a field or the loss does not fit the model, naming both sides.
  explicit TrainStep(const StepArgs& args);
  ~TrainStep();
  TrainStep(const TrainStep&) = delete;
  TrainStep& operator=(const TrainStep&) = delete;

  // Makes what a batch of `rows` rows needs, ahead of time.
  void prepare(int64_t rows);
  // Trains on the batch. Throws DataError for a value that makes no sense (layers/layer.h), with nothing trained;
  // its row is error_row(). What a busy device is given of it may wait for the next call: so ask model() for the model.
  StepOutcome run(const RowBlock& batch);
  // The model as the batches so far make it: on a device, once the context has done what it was given.
  Model& model();
  // Updates with the batches since the last update, where several make one and the data ends in between.
  StepOutcome flush();

  // Of the last batch, or of the window; wait for the device. The loss of a window in which no row counted is NaN.
  // Metrics of a batch are computed when they are asked for, also when the batch itself is gone. REQUIRES: run() was
  // called.
  double loss();
  const std::vector<double>& metrics();  // in the order of StepArgs::metrics
  void start_window();
  // Of the last batch, also where there are windows.
  double batch_loss();

  // Batches taken, and updates made.
  uint64_t steps() const;
  uint64_t updates() const;
  // Batches that no update followed, as loss or gradient were not finite.
  uint64_t skipped() const;
  // Counts on from an earlier training's numbers: draws and schedules go on where it ended.
  void resume(uint64_t steps, uint64_t updates);
  // The optimizer's state, as of model(): Optimizer::state_slots() blocks laid out like the model's parameter block.
  const std::vector<TensorView>& slots();

  // Whether the last batch that was trained on came as recorded graphs, but for an update whose gradient was checked.
  bool recorded() const;
  // How often several steps went in one launch.
  uint64_t groups() const;
  // Why some cannot come so, although this device could; empty where nothing failed.
  const std::string& not_recorded() const;
  // The row of the batch that run() threw about, or -1.
  int64_t error_row() const;
  // Bytes of the optimizer's state, the gradients and all plans, on the device and beside it, at most.
  size_t bytes() const;
  // The same for a training on batches of `rows` rows and a smaller last one, which it may prepare() or not. Plans the
  // full size.
  size_t memory_bound(int64_t rows);

 private:
  std::unique_ptr<StepRunner> runner_;
};

}  // namespace millrace
