#include "millrace/trainer/step.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <list>
#include <optional>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/layers/model/model_plan.h"
#include "millrace/trainer/field_input.h"

namespace millrace {

namespace {

// A field of the rows that the step reads, in the dtype in which it reads it.
struct Source {
  size_t field = 0;
  DType dtype = DType::f32;
  std::optional<ValueRange> range = {};
};

constexpr ValueRange kWeights{
    .min = 0, .max = std::numeric_limits<double>::infinity(), .hint = "a row of weight 0 does not count"};

size_t find_field(const RowSpec& rows, std::string_view name, std::string_view reader) {
  const int index = rows.find(name);
  if (index < 0) {
    std::vector<std::string> names;
    for (const FieldSpec& field : rows.fields) names.push_back(field.name);
    const std::string near = nearest(name, names);
    throw ConfigError(cat(reader, " reads the field ", quote(name), ", but the input gives ", rows.text()), {},
                      near.empty() ? cat("name the field in decode_csv: {fields: {", name, ": ..}}, or set from")
                                   : cat("did you mean ", near, "?"));
  }
  return static_cast<size_t>(index);
}

size_t find_weight(const RowSpec& rows, std::string_view name) {
  const size_t index = find_field(rows, name, "the loss's weight");
  const FieldSpec& field = rows.fields[index];
  if (field.shape.elements() == 1) return index;
  throw ShapeError(
      cat("the field ", field.name, " of row weights is ", field.tensor().text(), ", expected one number a row"));
}

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
    std::vector<FieldInput> inputs;      // the model's fields, then label, then weight
    std::vector<ConstTensorView> views;  // of inputs
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
  void load(Plan& plan, const RowBlock& batch);
  void plan_updates();
  void write_counts();
  void update(const Plan& plan);
  size_t bytes_beside_plans() const;

  StepArgs args;
  std::vector<Source> sources;
  bool weighted;
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

TrainStep::Impl::Impl(const StepArgs& step_args) : args(step_args), weighted(!step_args.weight.empty()) {
  for (const NamedSpec& field : args.model.fields()) {
    sources.push_back({find_field(args.rows, field.name, "the model"), field.spec.dtype});
  }
  const size_t label_field = find_field(args.rows, args.label, "the loss");
  TensorSpec label = args.rows.fields[label_field].tensor();
  args.loss.check(args.model.output(), label);
  const LabelSpec wanted = args.loss.label(args.model.output());
  label.dtype = wanted.dtype;
  sources.push_back({label_field, wanted.dtype, wanted.range});
  if (weighted) sources.push_back({find_weight(args.rows, args.weight), DType::f32, kWeights});

  const Device device = args.context.device();
  if (args.metrics != nullptr) {
    for (const NamedMetric& metric : *args.metrics) {
      metric.metric->check(args.model.output(), label);
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
  std::vector<TensorView> shapes;
  for (const Source& source : sources) {
    plan->inputs.emplace_back(FieldInputArgs{.device = device,
                                             .field = args.rows.fields[source.field],
                                             .dtype = source.dtype,
                                             .rows = rows,
                                             .range = source.range});
    shapes.push_back(plan->inputs.back().shape());
    plan->bytes += plan->inputs.back().bytes();
  }
  plan->views.resize(sources.size());

  const size_t fields = args.model.fields().size();
  plan->model = std::make_unique<ModelPlan>(
      args.model, args.context,
      ModelPlanArgs{.inputs = std::span(shapes).first(fields),
                    .mode = Mode::train,
                    .gradient_target = args.optimizer.adds_scaled_gradient() ? GradientTarget::parameters
                                                                             : GradientTarget::block_write});
  const TensorView prediction = plan->model->output();
  plan->loss = args.loss.plan(args.context, {.prediction = prediction, .label = shapes[fields], .weighted = weighted});
  size_t scratch = plan->loss->scratch_bytes();
  for (size_t i = 0; i < accumulators.size(); ++i) {
    plan->metrics.push_back((*args.metrics)[i].metric->plan(
        args.context, {.prediction = prediction, .label = shapes[fields], .weighted = weighted}));
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
  plan->bytes += plan->model->bytes() + plan->loss->bytes() + scratch;
  return plan;
}

void TrainStep::Impl::load(Plan& plan, const RowBlock& batch) {
  error_row = -1;
  for (size_t i = 0; i < sources.size(); ++i) {
    try {
      plan.views[i] = plan.inputs[i].load(args.context, batch.view(sources[i].field));
    } catch (const DataError&) {
      error_row = plan.inputs[i].error_row();
      throw;
    }
  }
  // The batch's memory is free again when run() returns.
  args.context.synchronize();
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
  impl_->load(plan, batch);
  impl_->current = &plan;
  impl_->write_counts();

  Context& context = impl_->args.context;
  const size_t fields = impl_->args.model.fields().size();
  const auto inputs = std::span<const ConstTensorView>(plan.views).first(fields);
  const ConstTensorView label = plan.views[fields];
  const ConstTensorView weight = impl_->weighted ? plan.views[fields + 1] : ConstTensorView();
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
