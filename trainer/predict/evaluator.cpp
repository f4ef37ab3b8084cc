#include "millrace/trainer/predict/evaluator.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/layers/model/model_plan.h"
#include "millrace/trainer/step/plan_cache.h"
#include "millrace/trainer/step/step_inputs.h"

namespace millrace {

struct Evaluator::Impl {
  // Everything that one batch size needs.
  struct Plan {
    int64_t rows = 0;
    std::optional<StepInputs> inputs;
    std::unique_ptr<ModelPlan> model;
    std::unique_ptr<ScorePlan> scores;  // where there is a loss
    size_t bytes = 0;
  };

  explicit Impl(const EvaluatorArgs& evaluator_args);
  std::unique_ptr<Plan> make_plan(int64_t rows);
  size_t bytes_beside_plans() const { return no_steps.bytes() + (scores ? scores->bytes() : 0); }

  EvaluatorArgs args;
  StepFields fields;
  PlanCache<Plan> plans;
  Memory no_steps;               // what layers may read as the number of passes in mode train: 0
  std::optional<Scores> scores;  // where there is a loss
  uint64_t rows = 0;
  int64_t error_row = -1;
};

Evaluator::Impl::Impl(const EvaluatorArgs& evaluator_args)
    : args(evaluator_args),
      fields({.model = args.model, .rows = args.rows, .loss = args.loss, .label = args.label, .weight = args.weight}),
      plans(args.context, kMaxPlans),
      no_steps(args.context.device(), sizeof(uint64_t)) {
  if (args.loss == nullptr) return;
  scores.emplace(ScoresArgs{.context = args.context,
                            .loss = *args.loss,
                            .metrics = args.metrics,
                            .prediction = args.model.output(),
                            .label = fields.label(),
                            .weighted = fields.weighted()});
}

std::unique_ptr<Evaluator::Impl::Plan> Evaluator::Impl::make_plan(int64_t wanted) {
  auto plan = std::make_unique<Plan>();
  plan->rows = wanted;
  plan->inputs.emplace(fields, args.context.device(), wanted);
  plan->model = std::make_unique<ModelPlan>(
      args.model, args.context, ModelPlanArgs{.inputs = plan->inputs->model_shapes(), .mode = Mode::predict});
  plan->bytes = plan->inputs->bytes() + plan->model->bytes();
  if (scores) {
    plan->scores = scores->plan(plan->model->output(), plan->inputs->label_shape());
    plan->bytes += plan->scores->bytes();
  }
  return plan;
}

Evaluator::Evaluator(const EvaluatorArgs& args) : impl_(std::make_unique<Impl>(args)) {}

Evaluator::~Evaluator() { impl_->args.context.drain(); }

void Evaluator::add(const RowBlock& batch) {
  Impl& impl = *impl_;
  Impl::Plan& plan = impl.plans.use(batch.size(), [&] { return impl.make_plan(batch.size()); });
  impl.error_row = -1;
  try {
    plan.inputs->load(impl.args.context, batch);
    impl.args.context.synchronize();
  } catch (const DataError&) {
    impl.error_row = plan.inputs->error_row();
    throw;
  }
  plan.model->forward(impl.args.context, plan.inputs->model(), static_cast<const uint64_t*>(impl.no_steps.data()));
  if (impl.scores) {
    const ScoredBatch scored = {
        .prediction = plan.model->output(), .label = plan.inputs->label(), .weight = plan.inputs->weight()};
    impl.scores->run(*plan.scores, scored);
    impl.scores->add(*plan.scores, scored);
  }
  impl.rows += static_cast<uint64_t>(batch.size());
}

int64_t Evaluator::error_row() const { return impl_->error_row; }

ConstTensorView Evaluator::output() const {
  const Impl::Plan* plan = impl_->plans.used();
  if (plan == nullptr) throw InternalError("there is no output before the first batch");
  return plan->model->output();
}

uint64_t Evaluator::rows() const { return impl_->rows; }

double Evaluator::loss() const {
  return impl_->scores ? impl_->scores->loss() : std::numeric_limits<double>::quiet_NaN();
}

MetricValues Evaluator::metrics() const {
  MetricValues named;
  if (!impl_->scores || impl_->args.metrics == nullptr) return named;
  const std::vector<double>& values = impl_->scores->metrics();
  for (size_t i = 0; i < values.size(); ++i) named.emplace_back((*impl_->args.metrics)[i].name, values[i]);
  return named;
}

void Evaluator::reset() {
  impl_->rows = 0;
  if (impl_->scores) impl_->scores->reset();
}

void Evaluator::prepare(int64_t rows) {
  impl_->plans.get(rows, [&] { return impl_->make_plan(rows); });
}

size_t Evaluator::bytes() const { return impl_->bytes_beside_plans() + impl_->plans.bytes(); }

size_t Evaluator::memory_bound(int64_t rows) {
  const size_t plan = impl_->plans.get(rows, [&] { return impl_->make_plan(rows); }).bytes;
  return impl_->bytes_beside_plans() + kMaxPlans * plan;
}

}  // namespace millrace
