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
    std::unique_ptr<LossPlan> loss;
    std::vector<std::unique_ptr<MetricPlan>> metrics;
    std::vector<Memory> partials;
    Memory scratch;
    size_t bytes = 0;
  };

  explicit Impl(const EvaluatorArgs& evaluator_args);
  Plan& plan_for(int64_t rows);
  std::unique_ptr<Plan> make_plan(int64_t rows);
  void plan_loss(Plan& plan);
  void judge(Plan& plan);
  void join(const Plan& plan);

  EvaluatorArgs args;
  StepFields fields;
  std::list<std::unique_ptr<Plan>> plans;  // most recently used first
  Memory no_steps;                         // what layers may read as the number of passes in mode train: 0
  Memory loss_value;                       // as LossArgs::loss
  std::vector<std::unique_ptr<MetricAccumulator>> accumulators;
  std::vector<std::vector<std::byte>> host_partials;

  uint64_t rows = 0;
  double weighted_loss = 0, weight = 0;
  int64_t error_row = -1;
};

Evaluator::Impl::Impl(const EvaluatorArgs& evaluator_args)
    : args(evaluator_args),
      fields({.model = args.model, .rows = args.rows, .loss = args.loss, .label = args.label, .weight = args.weight}),
      no_steps(args.context.device(), sizeof(uint64_t)),
      loss_value(args.context.device(), 2 * sizeof(double)) {
  check_shapes(args.model, args.rows);
  if (args.loss == nullptr || args.metrics == nullptr) return;
  for (const NamedMetric& metric : *args.metrics) {
    metric.metric->check(args.model.output(), fields.label());
    accumulators.push_back(metric.metric->accumulator());
  }
  host_partials.resize(accumulators.size());
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
  if (args.loss != nullptr) plan_loss(*plan);
  return plan;
}

void Evaluator::Impl::plan_loss(Plan& plan) {
  const TensorView prediction = plan.model->output(), label = plan.inputs->label_shape();
  const bool weighted = fields.weighted();
  plan.loss = args.loss->plan(args.context, {.prediction = prediction, .label = label, .weighted = weighted});
  size_t scratch = plan.loss->scratch_bytes();
  plan.bytes += plan.loss->bytes();
  for (size_t i = 0; i < accumulators.size(); ++i) {
    plan.metrics.push_back((*args.metrics)[i].metric->plan(
        args.context, {.prediction = prediction, .label = label, .weighted = weighted}));
    const MetricPlan& metric = *plan.metrics.back();
    plan.partials.emplace_back(args.context.device(), metric.partial_bytes());
    host_partials[i].reserve(metric.partial_bytes());
    scratch = std::max(scratch, metric.scratch_bytes());
    plan.bytes += metric.partial_bytes() + metric.bytes();
  }
  plan.scratch = Memory(args.context.device(), scratch);
  plan.bytes += scratch;
}

// Computes loss and metrics of the batch whose prediction is there.
void Evaluator::Impl::judge(Plan& plan) {
  const ConstTensorView label = plan.inputs->label(), row_weights = plan.inputs->weight();
  plan.loss->run(args.context, {.prediction = plan.model->output(),
                                .label = label,
                                .weight = row_weights,
                                .loss = loss_value.data(),
                                .gradient = {},
                                .scratch = plan.scratch.data()});
  for (size_t i = 0; i < plan.metrics.size(); ++i) {
    plan.metrics[i]->run(args.context, {.prediction = plan.model->output(),
                                        .label = label,
                                        .weight = row_weights,
                                        .partial = plan.partials[i].data(),
                                        .scratch = plan.scratch.data()});
  }
}

// Joins what judge() computed.
void Evaluator::Impl::join(const Plan& plan) {
  double wide[2] = {};
  float narrow[2] = {};
  const bool is_double = args.model.dtype() == DType::f64;
  args.context.copy(is_double ? static_cast<void*>(wide) : narrow, loss_value.data(),
                    is_double ? sizeof wide : sizeof narrow);
  for (size_t i = 0; i < accumulators.size(); ++i) {
    host_partials[i].resize(plan.partials[i].bytes());
    args.context.copy(host_partials[i].data(), plan.partials[i].data(), host_partials[i].size());
  }
  args.context.synchronize();
  const double mean = is_double ? wide[0] : static_cast<double>(narrow[0]);
  const double batch_weight = is_double ? wide[1] : static_cast<double>(narrow[1]);
  if (batch_weight > 0) {
    weighted_loss += batch_weight * mean;
    weight += batch_weight;
  }
  for (size_t i = 0; i < accumulators.size(); ++i) accumulators[i]->add(host_partials[i], plan.rows);
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
  if (plan.loss != nullptr) {
    impl.judge(plan);
    impl.join(plan);
  }
  impl.rows += static_cast<uint64_t>(batch.size());
}

int64_t Evaluator::error_row() const { return impl_->error_row; }
ConstTensorView Evaluator::output() const { return impl_->plans.front()->model->output(); }
uint64_t Evaluator::rows() const { return impl_->rows; }

double Evaluator::loss() const {
  return impl_->weight > 0 ? impl_->weighted_loss / impl_->weight : std::numeric_limits<double>::quiet_NaN();
}

MetricValues Evaluator::metrics() const {
  MetricValues values;
  for (size_t i = 0; i < impl_->accumulators.size(); ++i) {
    values.emplace_back((*impl_->args.metrics)[i].name, impl_->accumulators[i]->value());
  }
  return values;
}

void Evaluator::reset() {
  impl_->rows = 0;
  impl_->weighted_loss = impl_->weight = 0;
  for (const auto& accumulator : impl_->accumulators) accumulator->reset();
}

size_t Evaluator::memory_bound(int64_t rows) {
  return impl_->no_steps.bytes() + impl_->loss_value.bytes() + kMaxPlans * impl_->plan_for(rows).bytes;
}

}  // namespace millrace
