#include "millrace/trainer/step.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <list>
#include <optional>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/layers/model/model_plan.h"
#include "millrace/trainer/step_inputs.h"

namespace millrace {

namespace {

// Neighbouring parameters that one call of the optimizer updates.
struct UpdateRun {
  size_t offset = 0;  // bytes from the start of the block
  TensorView parameters;
  std::vector<TensorView> slots;
  bool decay = false;
};

TensorView part_of(const Memory& block, size_t offset, const TensorView& like) {
  return TensorView(static_cast<std::byte*>(block.data()) + offset, like.dtype(), like.shape());
}

}  // namespace

struct TrainStep::Impl {
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

  explicit Impl(const StepArgs& step_args);
  Plan& plan_for(int64_t rows);
  std::unique_ptr<Plan> make_plan(int64_t rows);
  void plan_updates();
  void write_counts();
  bool in_place() const { return args.optimizer.adds_scaled_gradient() && !args.gradients.any(); }
  TensorView gradient_block() const;
  double batch_value(size_t index);
  StepOutcome update();
  void join_partials();
  void add_to_window();
  size_t bytes_beside_plans() const;

  StepArgs args;
  StepFields fields;
  std::list<std::unique_ptr<Plan>> plans;  // most recently used first
  Plan* current = nullptr;

  Memory gradients;  // laid out like the parameter block; empty when backward updates in place
  GradientRules rules;
  std::vector<Memory> slot_memory;  // the optimizer's state
  std::vector<TensorView> slots;
  std::vector<UpdateRun> update_runs;
  std::vector<float> host_scalars;
  Memory scalars;
  Memory pass_counter;
  Memory loss_value;  // as LossArgs::loss
  std::vector<std::unique_ptr<MetricAccumulator>> accumulators;
  std::vector<std::vector<std::byte>> host_partials;
  std::vector<double> metric_values;
  double window_loss = 0, window_weight = 0;  // the sum of the batches' losses by weight, and that of the weights
  int64_t window_batches = 0;
  // What layers and optimizer count.
  uint64_t forward_passes = 0, updates = 0, skipped = 0;
  int64_t error_row = -1;
};

TrainStep::Impl::Impl(const StepArgs& step_args)
    : args(step_args),
      fields({.model = args.model, .rows = args.rows, .loss = &args.loss, .label = args.label, .weight = args.weight}),
      rules(args.gradients, args.context.device(), args.model.parameter_block().spec()) {
  const Device device = args.context.device();
  if (args.metrics != nullptr) {
    for (const NamedMetric& metric : *args.metrics) {
      metric.metric->check(args.model.output(), fields.label());
      accumulators.push_back(metric.metric->accumulator());
    }
  }
  host_partials.resize(accumulators.size());
  metric_values.resize(accumulators.size());

  plan_updates();
  host_scalars.resize(static_cast<size_t>(args.optimizer.scalar_count()));
  scalars = Memory(device, sizeof(float) * host_scalars.size());
  pass_counter = Memory(device, sizeof(uint64_t));
  loss_value = Memory(device, 2 * sizeof(double));
}

void TrainStep::Impl::plan_updates() {
  const TensorView block = args.model.parameter_block();
  for (int i = 0; i < args.optimizer.state_slots(); ++i) {
    slot_memory.emplace_back(args.context.device(), block.spec().bytes());
    slots.push_back(part_of(slot_memory.back(), 0, block));
  }
  const std::vector<Parameter>& parameters = args.model.parameters();
  for (size_t first = 0, next = 0; first < parameters.size(); first = next) {
    UpdateRun run;
    run.offset = parameters[first].offset;
    run.decay = args.optimizer.decays(parameters[first].name);
    do ++next;
    while (next < parameters.size() && args.optimizer.decays(parameters[next].name) == run.decay);
    const size_t end = next < parameters.size() ? parameters[next].offset : block.spec().bytes();
    const auto count = static_cast<int64_t>((end - run.offset) / size_of(block.dtype()));
    run.parameters = TensorView(static_cast<std::byte*>(block.data()) + run.offset, block.dtype(), Shape{count});
    for (const Memory& slot : slot_memory) run.slots.push_back(part_of(slot, run.offset, run.parameters));
    update_runs.push_back(std::move(run));
  }
}

TrainStep::Impl::Plan& TrainStep::Impl::plan_for(int64_t rows) {
  const auto found = std::find_if(plans.begin(), plans.end(), [&](const auto& plan) { return plan->rows == rows; });
  if (found != plans.end()) {
    plans.splice(plans.begin(), plans, found);
  } else {
    if (plans.size() == kMaxPlans) {
      args.context.synchronize();
      auto oldest = std::prev(plans.end());
      // metrics() reads the partials of the last run.
      if (oldest->get() == current) --oldest;
      plans.erase(oldest);
    }
    plans.push_front(make_plan(rows));
  }
  return *plans.front();
}

std::unique_ptr<TrainStep::Impl::Plan> TrainStep::Impl::make_plan(int64_t rows) {
  auto plan = std::make_unique<Plan>();
  plan->rows = rows;
  const Device device = args.context.device();
  plan->inputs.emplace(fields, device, rows);
  plan->model = std::make_unique<ModelPlan>(
      args.model, args.context,
      ModelPlanArgs{.inputs = plan->inputs->model_shapes(),
                    .mode = Mode::train,
                    .gradient_target = in_place() ? GradientTarget::parameters : rules.target()});
  const TensorView prediction = plan->model->output();
  const TensorView label = plan->inputs->label_shape();
  const bool weighted = fields.weighted();
  plan->loss = args.loss.plan(args.context, {.prediction = prediction, .label = label, .weighted = weighted});
  size_t scratch = plan->loss->scratch_bytes();
  for (size_t i = 0; i < accumulators.size(); ++i) {
    plan->metrics.push_back((*args.metrics)[i].metric->plan(
        args.context, {.prediction = prediction, .label = label, .weighted = weighted}));
    const MetricPlan& metric = *plan->metrics.back();
    plan->partials.emplace_back(device, metric.partial_bytes());
    host_partials[i].reserve(metric.partial_bytes());
    scratch = std::max(scratch, metric.scratch_bytes());
    plan->bytes += metric.partial_bytes() + metric.bytes();
  }
  plan->scratch = Memory(device, scratch);
  if (!plan->model->in_place() && !gradients) {
    gradients = Memory(device, args.model.parameter_block().spec().bytes());
  }
  plan->bytes += plan->inputs->bytes() + plan->model->bytes() + plan->loss->bytes() + scratch;
  return plan;
}

void TrainStep::Impl::write_counts() {
  args.optimizer.scalars(updates, host_scalars);
  args.context.copy(scalars.data(), host_scalars.data(), sizeof(float) * host_scalars.size());
  args.context.copy(pass_counter.data(), &forward_passes, sizeof forward_passes);
}

TensorView TrainStep::Impl::gradient_block() const {
  const TensorView block = args.model.parameter_block();
  return gradients ? part_of(gradients, 0, block) : TensorView();
}

StepOutcome TrainStep::Impl::update() {
  const auto batches = static_cast<uint64_t>(rules.gathered());
  const float* scale = rules.finish(args.context, gradient_block());
  if (args.gradients.check_finite && !rules.finite(args.context)) {
    skipped += batches;
    return StepOutcome::gradient_not_finite;
  }
  for (const UpdateRun& run : update_runs) {
    args.optimizer.update(args.context, {.parameters = run.parameters,
                                         .gradients = part_of(gradients, run.offset, run.parameters),
                                         .slots = run.slots,
                                         .scalars = static_cast<const float*>(scalars.data()),
                                         .gradient_scale = scale,
                                         .decay = run.decay});
  }
  ++updates;
  return StepOutcome::trained;
}

// Of the last batch: its loss, or the weight of its rows.
double TrainStep::Impl::batch_value(size_t index) {
  double wide[2] = {};
  float narrow[2] = {};
  const bool is_double = args.model.dtype() == DType::f64;
  args.context.copy(is_double ? static_cast<void*>(wide) : narrow, loss_value.data(),
                    is_double ? sizeof wide : sizeof narrow);
  args.context.synchronize();
  return is_double ? wide[index] : static_cast<double>(narrow[index]);
}

// Adds the last batch's contributions to the metrics.
void TrainStep::Impl::join_partials() {
  for (size_t i = 0; i < accumulators.size(); ++i) {
    host_partials[i].resize(current->partials[i].bytes());
    args.context.copy(host_partials[i].data(), current->partials[i].data(), host_partials[i].size());
  }
  args.context.synchronize();
  for (size_t i = 0; i < accumulators.size(); ++i) accumulators[i]->add(host_partials[i], current->rows);
}

void TrainStep::Impl::add_to_window() {
  const double weight = batch_value(1);
  if (weight > 0) window_loss += weight * batch_value(0);
  window_weight += weight;
  ++window_batches;
  join_partials();
}

size_t TrainStep::Impl::bytes_beside_plans() const {
  size_t total = gradients.bytes() + rules.bytes() + scalars.bytes() + pass_counter.bytes() + loss_value.bytes();
  for (const Memory& slot : slot_memory) total += slot.bytes();
  return total;
}

TrainStep::TrainStep(const StepArgs& args) : impl_(std::make_unique<Impl>(args)) {}

TrainStep::~TrainStep() {
  try {
    impl_->args.context.synchronize();
  } catch (const Error&) {
    // A device that failed has nothing left to wait for; what it failed with came up where a result was wanted.
  }
}

void TrainStep::prepare(int64_t rows) { impl_->plan_for(rows); }

StepOutcome TrainStep::run(const RowBlock& batch) {
  Impl& impl = *impl_;
  Impl::Plan& plan = impl.plan_for(batch.size());
  Context& context = impl.args.context;
  impl.error_row = -1;
  try {
    plan.inputs->load(context, batch);
  } catch (const DataError&) {
    impl.error_row = plan.inputs->error_row();
    throw;
  }
  impl.write_counts();

  const std::span<const ConstTensorView> inputs = plan.inputs->model();
  const ConstTensorView label = plan.inputs->label(), weight = plan.inputs->weight();
  const auto* pass = static_cast<const uint64_t*>(impl.pass_counter.data());
  plan.model->forward(context, inputs, pass);
  plan.loss->run(context, {.prediction = plan.model->output(),
                           .label = label,
                           .weight = weight,
                           .loss = impl.loss_value.data(),
                           .gradient = plan.model->output_gradient(),
                           .scratch = plan.scratch.data()});
  for (size_t i = 0; i < plan.metrics.size(); ++i) {
    plan.metrics[i]->run(context, {.prediction = plan.model->output(),
                                   .label = label,
                                   .weight = weight,
                                   .partial = plan.partials[i].data(),
                                   .scratch = plan.scratch.data()});
  }
  impl.current = &plan;
  ++impl.forward_passes;
  if (impl.args.gradients.check_finite && !std::isfinite(impl.batch_value(0))) {
    ++impl.skipped;
    return StepOutcome::loss_not_finite;
  }
  if (impl.args.window) impl.add_to_window();
  if (plan.model->in_place()) {
    plan.model->backward(context, inputs, pass, static_cast<const float*>(impl.scalars.data()), TensorView());
    ++impl.updates;
    return StepOutcome::trained;
  }
  const TensorView gradients = impl.gradient_block();
  const float* alpha = impl.rules.begin_batch(context, impl.loss_value.data(), gradients);
  plan.model->backward(context, inputs, pass, alpha, gradients);
  return impl.rules.complete() ? impl.update() : StepOutcome::trained;
}

StepOutcome TrainStep::flush() { return impl_->rules.gathered() > 0 ? impl_->update() : StepOutcome::trained; }

double TrainStep::loss() {
  const Impl& impl = *impl_;
  if (!impl.args.window) return batch_loss();
  if (impl.window_batches == 0) return std::numeric_limits<double>::quiet_NaN();
  return impl.window_weight > 0 ? impl.window_loss / impl.window_weight : 0;
}

const std::vector<double>& TrainStep::metrics() {
  Impl& impl = *impl_;
  if (impl.current == nullptr) return impl.metric_values;
  if (!impl.args.window) {
    for (const auto& accumulator : impl.accumulators) accumulator->reset();
    impl.join_partials();
  }
  for (size_t i = 0; i < impl.accumulators.size(); ++i) impl.metric_values[i] = impl.accumulators[i]->value();
  return impl.metric_values;
}

void TrainStep::start_window() {
  impl_->window_loss = impl_->window_weight = 0;
  impl_->window_batches = 0;
  for (const auto& accumulator : impl_->accumulators) accumulator->reset();
}

double TrainStep::batch_loss() { return impl_->batch_value(0); }

uint64_t TrainStep::steps() const { return impl_->forward_passes; }

uint64_t TrainStep::updates() const { return impl_->updates; }

uint64_t TrainStep::skipped() const { return impl_->skipped; }

void TrainStep::resume(uint64_t steps, uint64_t updates) {
  impl_->forward_passes = steps;
  impl_->updates = updates;
}

const std::vector<TensorView>& TrainStep::slots() const { return impl_->slots; }

int64_t TrainStep::error_row() const { return impl_->error_row; }

size_t TrainStep::bytes() const {
  size_t total = impl_->bytes_beside_plans();
  for (const auto& plan : impl_->plans) total += plan->bytes;
  return total;
}

size_t TrainStep::memory_bound(int64_t rows) {
  const size_t plan = impl_->plan_for(rows).bytes;
  return impl_->bytes_beside_plans() + kBatchSizes * plan;
}

}  // namespace millrace
