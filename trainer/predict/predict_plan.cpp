#include "millrace/trainer/predict/predict_plan.h"

#include <limits>

#include "millrace/core/errors.h"

namespace millrace {

PredictPlan::PredictPlan(const PredictPlanArgs& args)
    : args_(args),
      fields_({.model = args.model, .rows = args.rows, .loss = args.loss, .label = args.label, .weight = args.weight}),
      no_steps_(args.context.device(), sizeof(uint64_t)),
      plans_(args.context, args.sizes) {
  if (args.loss == nullptr) return;
  scores_.emplace(ScoresArgs{.context = args.context,
                             .loss = *args.loss,
                             .metrics = args.metrics,
                             .prediction = args.model.output(),
                             .label = fields_.label(),
                             .weighted = fields_.weighted()});
}

PredictPlan::Sized::Sized(PredictPlan& of, int64_t batch_rows)
    : rows(batch_rows),
      inputs(of.fields_, of.args_.context.device(), rows),
      model(of.args_.model, of.args_.context, ModelPlanArgs{.inputs = inputs.model_shapes(), .mode = Mode::predict}),
      bytes(inputs.bytes() + model.bytes()) {
  if (!of.scores_) return;
  scores = of.scores_->plan(model.output(), inputs.label_shape());
  bytes += scores->bytes();
}

void PredictPlan::run(const RowBlock& batch) {
  Sized& plan = planned(batch.size());
  plans_.use(plan);
  on_host_ = false;
  plan.inputs.load(args_.context, batch);
  plan.model.forward(args_.context, plan.inputs.model(), static_cast<const uint64_t*>(no_steps_.data()));
  if (scores_) {
    const ScoredBatch scored = {
        .prediction = plan.model.output(), .label = plan.inputs.label(), .weight = plan.inputs.weight()};
    scores_->run(*plan.scores, scored);
    scores_->add(*plan.scores, scored);
  }
  rows_ += static_cast<uint64_t>(batch.size());
}

bool PredictPlan::run_next(Pipeline& pipeline, RowBlock& batch, FunctionRef<void()> body) {
  args_.context.synchronize();  // the device may still work on the previous batch
  if (pipeline.next(batch) == 0) return false;
  try {
    args_.context.executor().run(body);
  } catch (RowError& error) {
    error.set_place(pipeline.place(batch.id(error.row)));
    throw;
  }
  return true;
}

ConstTensorView PredictPlan::output() {
  if (plans_.used() == nullptr) throw InternalError("there is no output before the first batch");
  const ConstTensorView output = plans_.used()->model.output();
  if (args_.context.device().is_cpu()) return output;
  if (!on_host_) {
    if (host_.bytes() < output.bytes()) host_ = Memory(Device::cpu(), output.bytes());
    args_.context.copy(host_.data(), output.data(), output.bytes());
    args_.context.synchronize();
    on_host_ = true;
  }
  return ConstTensorView(host_.data(), output.dtype(), output.shape(), output.row_bytes());
}

double PredictPlan::loss() const { return scores_ ? scores_->loss() : std::numeric_limits<double>::quiet_NaN(); }

MetricValues PredictPlan::metrics() { return scores_ ? scores_->metrics() : MetricValues(); }

size_t PredictPlan::memory_bound(int64_t rows) {
  const size_t plan = planned(rows).bytes;  // first, because it tells the accumulators how many rows may come
  return bytes_beside_plans() + args_.sizes * plan;
}

void PredictPlan::reset() {
  rows_ = 0;
  if (scores_) scores_->reset();
}

}  // namespace millrace
