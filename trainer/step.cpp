#include "millrace/trainer/step.h"

#include <algorithm>
#include <iterator>
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
  void update(const Plan& plan);
  size_t bytes_beside_plans() const;

  StepArgs args;
  StepFields fields;
  std::list<std::unique_ptr<Plan>> plans;  // most recently used first
  Plan* current = nullptr;

  Memory gradients;           // laid out like the parameter block; empty when backward updates in place
  std::vector<Memory> slots;  // the optimizer's state
  std::vector<UpdateRun> update_runs;
  std::vector<float> host_scalars;
  Memory scalars;
  Memory pass_counter;
  Memory loss_value;  // as LossArgs::loss
  std::vector<std::unique_ptr<MetricAccumulator>> accumulators;
  std::vector<std::vector<std::byte>> host_partials;
  std::vector<double> metric_values;
  // What layers and optimizer count. They part when several batches make one update.
  uint64_t forward_passes = 0, updates = 0;
  int64_t error_row = -1;
};

TrainStep::Impl::Impl(const StepArgs& step_args)
    : args(step_args),
      fields({.model = args.model, .rows = args.rows, .loss = &args.loss, .label = args.label, .weight = args.weight}) {
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
    slots.emplace_back(args.context.device(), block.spec().bytes());
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
    for (const Memory& slot : slots) run.slots.push_back(part_of(slot, run.offset, run.parameters));
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
                    .gradient_target = args.optimizer.adds_scaled_gradient() ? GradientTarget::parameters
                                                                             : GradientTarget::block_write});
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

void TrainStep::Impl::update(const Plan& plan) {
  if (plan.model->in_place()) return;
  for (const UpdateRun& run : update_runs) {
    args.optimizer.update(args.context, {.parameters = run.parameters,
                                         .gradients = part_of(gradients, run.offset, run.parameters),
                                         .slots = run.slots,
                                         .scalars = static_cast<const float*>(scalars.data()),
                                         .gradient_scale = nullptr,
                                         .decay = run.decay});
  }
}

size_t TrainStep::Impl::bytes_beside_plans() const {
  size_t total = gradients.bytes() + scalars.bytes() + pass_counter.bytes() + loss_value.bytes();
  for (const Memory& slot : slots) total += slot.bytes();
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

void TrainStep::run(const RowBlock& batch) {
  Impl::Plan& plan = impl_->plan_for(batch.size());
  impl_->error_row = -1;
  try {
    plan.inputs->load(impl_->args.context, batch);
  } catch (const DataError&) {
    impl_->error_row = plan.inputs->error_row();
    throw;
  }
  impl_->current = &plan;
  impl_->write_counts();

  Context& context = impl_->args.context;
  const std::span<const ConstTensorView> inputs = plan.inputs->model();
  const ConstTensorView label = plan.inputs->label(), weight = plan.inputs->weight();
  const auto* pass = static_cast<const uint64_t*>(impl_->pass_counter.data());
  plan.model->forward(context, inputs, pass);
  plan.loss->run(context, {.prediction = plan.model->output(),
                           .label = label,
                           .weight = weight,
                           .loss = impl_->loss_value.data(),
                           .gradient = plan.model->output_gradient(),
                           .scratch = plan.scratch.data()});
  for (size_t i = 0; i < plan.metrics.size(); ++i) {
    plan.metrics[i]->run(context, {.prediction = plan.model->output(),
                                   .label = label,
                                   .weight = weight,
                                   .partial = plan.partials[i].data(),
                                   .scratch = plan.scratch.data()});
  }
  const bool in_place = plan.model->in_place();
  const TensorView block = impl_->args.model.parameter_block();
  plan.model->backward(context, inputs, pass, in_place ? static_cast<const float*>(impl_->scalars.data()) : nullptr,
                       in_place ? TensorView() : TensorView(impl_->gradients.data(), block.dtype(), block.shape()));
  impl_->update(plan);
  ++impl_->forward_passes;
  ++impl_->updates;
}

double TrainStep::loss() {
  double wide = 0;
  float narrow = 0;
  const bool is_double = impl_->args.model.dtype() == DType::f64;
  impl_->args.context.copy(is_double ? static_cast<void*>(&wide) : &narrow, impl_->loss_value.data(),
                           is_double ? sizeof wide : sizeof narrow);
  impl_->args.context.synchronize();
  return is_double ? wide : static_cast<double>(narrow);
}

const std::vector<double>& TrainStep::metrics() {
  Impl& impl = *impl_;
  if (impl.current == nullptr) return impl.metric_values;
  for (size_t i = 0; i < impl.accumulators.size(); ++i) {
    impl.host_partials[i].resize(impl.current->partials[i].bytes());
    impl.args.context.copy(impl.host_partials[i].data(), impl.current->partials[i].data(),
                           impl.host_partials[i].size());
  }
  impl.args.context.synchronize();
  for (size_t i = 0; i < impl.accumulators.size(); ++i) {
    impl.accumulators[i]->reset();
    impl.accumulators[i]->add(impl.host_partials[i], impl.current->rows);
    impl.metric_values[i] = impl.accumulators[i]->value();
  }
  return impl.metric_values;
}

uint64_t TrainStep::steps() const { return impl_->updates; }

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
