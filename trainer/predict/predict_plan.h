// PredictPlan: runs a model in mode predict on batches of any size: gives its outputs and, if there is a loss, loss and
// metrics over all rows, joined in double in the order of the batches. How the rows are cut into batches changes only
// the rounding, and nothing in metrics that count.
//
//   PredictPlan plan({.model = model, .context = context, .rows = rows, .loss = loss.get(), .label = "label"});
//   while (const RowBlock* batch = next()) plan.run(*batch);
//   report(plan.loss(), plan.metrics());
//
// The model is only read. One thread uses a PredictPlan; what its arguments refer to must outlive it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "millrace/core/context.h"
#include "millrace/input/graph/pipeline.h"
#include "millrace/input/rows/row_block.h"
#include "millrace/layers/loss.h"
#include "millrace/layers/model/model.h"
#include "millrace/layers/model/model_plan.h"
#include "millrace/trainer/step/plan_cache.h"
#include "millrace/trainer/step/scores.h"
#include "millrace/trainer/step/step_inputs.h"

namespace millrace {

struct PredictPlanArgs {
  const Model& model;
  Context& context;
  const RowSpec& rows;         // of the batches
  const Loss* loss = nullptr;  // null: only outputs; neither label nor weight is read
  std::string label = {};
  std::string weight = {};  // empty: every row counts the same
  const std::vector<NamedMetric>* metrics = nullptr;
  size_t sizes = 2;  // the most batch sizes with a plan at the same time: the full size and the last batch's size
};

class PredictPlan {
 public:
  // Throws ConfigError when the rows lack a field, or have it in another shape than the model reads, and when the loss
  // or a metric does not fit; it names both sides.
  explicit PredictPlan(const PredictPlanArgs& args);
  ~PredictPlan() { args_.context.drain(); }
  PredictPlan(const PredictPlan&) = delete;
  PredictPlan& operator=(const PredictPlan&) = delete;

  // Runs the model on the batch, which must stay as it is until the context has done its work: with a loss, until run()
  // returns. Throws RowError for a label or a weight that makes no sense (loss.h), with nothing counted.
  void run(const RowBlock& batch);
  // Calls run() with the pipeline's next batch, inside the context's executor; an error about a row has the row's
  // place. False at the end of the data.
  bool run_next(Pipeline& pipeline, RowBlock& batch) {
    return run_next(pipeline, batch, [&] { run(batch); });
  }
  // The same, but calls `body`, which runs the batch.
  bool run_next(Pipeline& pipeline, RowBlock& batch, FunctionRef<void()> body);
  // The model's output for the batch of the last run(), on the host; valid until the next run(). Throws InternalError
  // when there was none.
  ConstTensorView output();

  // Over every batch since reset(). The loss is NaN if no row counted.
  uint64_t rows() const { return rows_; }
  double loss() const;
  MetricValues metrics();
  void reset();

  // Makes what a batch of `rows` rows needs, ahead of time.
  void prepare(int64_t rows) { planned(rows); }
  // Bytes that it holds now, on the device and on the host, except those of output().
  size_t bytes() const { return bytes_beside_plans() + plans_.bytes(); }
  // The most that bytes() becomes for batches of `rows` rows and a smaller last one. Plans the full size.
  size_t memory_bound(int64_t rows);

 private:
  // Everything for one size of batch.
  struct Sized {
    Sized(PredictPlan& of, int64_t batch_rows);

    int64_t rows;
    StepInputs inputs;
    ModelPlan model;
    std::unique_ptr<ScorePlan> scores;  // null without a loss
    size_t bytes;
  };

  Sized& planned(int64_t rows) {
    return plans_.get(rows, [&] { return std::make_unique<Sized>(*this, rows); });
  }
  size_t bytes_beside_plans() const { return no_steps_.bytes() + (scores_ ? scores_->bytes() : 0); }

  PredictPlanArgs args_;
  StepFields fields_;
  Memory no_steps_;               // holds 0, the number of forward passes in mode train
  std::optional<Scores> scores_;  // empty without a loss
  PlanCache<Sized> plans_;
  Memory host_;           // outputs that were copied from a device
  bool on_host_ = false;  // host_ holds the outputs of the last run()
  uint64_t rows_ = 0;
};

}  // namespace millrace
