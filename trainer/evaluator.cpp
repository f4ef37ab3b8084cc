#include "millrace/trainer/evaluator.h"

#include <algorithm>
#include <limits>
#include <list>
#include <optional>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/layers/model/model_plan.h"
#include "millrace/trainer/step_inputs.h"

namespace millrace {

namespace {

void check_shapes(const Model& model, const RowSpec& rows) {
  for (const NamedSpec& wanted : model.fields()) {
    const FieldSpec& field = rows.fields[static_cast<size_t>(rows.find(wanted.name))];
    if (field.shape == wanted.spec.shape) continue;
    throw ShapeError(cat("the model reads the field ", wanted.name, " as ", wanted.spec.text(), ", the input gives ",
                         field.tensor().text()),
                     {}, "select as many columns as in the training");
  }
}

}  // namespace

struct Evaluator::Impl {
  // Everything that one batch size needs.
  struct Plan {
    int64_t rows = 0;
    std::optional<StepInputs> inputs;
    std::unique_ptr<ModelPlan> model;
    std::shared_ptr<ScorePlan> scores;  // where there is a loss
    size_t bytes = 0;
  };

  explicit Impl(const EvaluatorArgs& evaluator_args);
  Plan& plan_for(int64_t rows);
  std::unique_ptr<Plan> make_plan(int64_t rows);

  EvaluatorArgs args;
  StepFields fields;
  std::list<std::unique_ptr<Plan>> plans;  // most recently used first
  Memory no_steps;                         // what layers may read as the number of passes in mode train: 0
  std::optional<Scores> scores;            // where there is a loss
  uint64_t rows = 0;
  int64_t error_row = -1;
};

Evaluator::Impl::Impl(const EvaluatorArgs& evaluator_args)
    : args(evaluator_args),
      fields({.model = args.model, .rows = args.rows, .loss = args.loss, .label = args.label, .weight = args.weight}),
      no_steps(args.context.device(), sizeof(uint64_t)) {
  check_shapes(args.model, args.rows);
  if (args.loss == nullptr) return;
  scores.emplace(ScoresArgs{.context = args.context,
                            .loss = *args.loss,
                            .metrics = args.metrics,
                            .prediction = args.model.output(),
                            .label = fields.label(),
                            .weighted = fields.weighted()});
}

Evaluator::Impl::Plan& Evaluator::Impl::plan_for(int64_t wanted) {
  const auto found = std::find_if(plans.begin(), plans.end(), [&](const auto& plan) { return plan->rows == wanted; });
  if (found != plans.end()) {
    plans.splice(plans.begin(), plans, found);
    return *plans.front();
  }
  if (plans.size() == kMaxPlans) {
    args.context.synchronize();
    plans.pop_back();
  }
  plans.push_front(make_plan(wanted));
  return *plans.front();
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

Evaluator::~Evaluator() {
  try {
    impl_->args.context.synchronize();
  } catch (const Error&) {
    // A device that failed has nothing left to wait for; what it failed with came up where a result was wanted.
  }
}

void Evaluator::add(const RowBlock& batch) {
  Impl& impl = *impl_;
  Impl::Plan& plan = impl.plan_for(batch.size());
  impl.error_row = -1;
  try {
    plan.inputs->load(impl.args.context, batch);
  } catch (const DataError&) {
    impl.error_row = plan.inputs->error_row();
    throw;
  }
  plan.model->forward(impl.args.context, plan.inputs->model(), static_cast<const uint64_t*>(impl.no_steps.data()));
  if (impl.scores) {
    impl.scores->run(
        plan.scores,
        {.prediction = plan.model->output(), .label = plan.inputs->label(), .weight = plan.inputs->weight()});
    impl.scores->add();
  }
  impl.rows += static_cast<uint64_t>(batch.size());
}

int64_t Evaluator::error_row() const { return impl_->error_row; }
ConstTensorView Evaluator::output() const { return impl_->plans.front()->model->output(); }
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

size_t Evaluator::memory_bound(int64_t rows) {
  const size_t beside = impl_->no_steps.bytes() + (impl_->scores ? impl_->scores->bytes() : 0);
  return beside + kMaxPlans * impl_->plan_for(rows).bytes;
}

}  // namespace millrace
