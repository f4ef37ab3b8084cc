#include "millrace/trainer/step.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/core/trace.h"
#include "millrace/layers/model/model_plan.h"
#include "millrace/trainer/model_copy.h"
#include "millrace/trainer/plan_cache.h"
#include "millrace/trainer/scores.h"
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
    std::unique_ptr<ScorePlan> scores;
    size_t bytes = 0;
  };

  explicit Impl(const StepArgs& step_args);
  std::unique_ptr<Plan> make_plan(int64_t rows);
  void plan_updates();
  void write_counts();
  bool in_place() const { return args.optimizer.adds_scaled_gradient() && !args.gradients.any(); }
  TensorView gradient_block() const;
  StepOutcome update();
  size_t bytes_beside_plans() const;

  StepArgs args;
  StepFields fields;
  Scores scores;
  PlanCache<Plan> plans;

  Memory gradients;  // laid out like the parameter block; empty when backward updates in place
  GradientRules rules;
  // What the layers' states were before the running batch, and before the first batch of its update; where batches may
  // be skipped.
  std::optional<StateCopy> state_before_batch, state_before_update;
  std::vector<Memory> slot_memory;  // the optimizer's state
  std::vector<TensorView> slots;
  std::vector<UpdateRun> update_runs;
  std::vector<float> host_scalars;
  Memory scalars;
  Memory pass_counter;
  // What layers and optimizer count.
  uint64_t forward_passes = 0, updates = 0, skipped = 0;
  int64_t error_row = -1;
};

TrainStep::Impl::Impl(const StepArgs& step_args)
    : args(step_args),
      fields({.model = args.model,
              .rows = args.rows,
              .loss = &args.loss,
              .label = args.label,
              .weight = args.weight,
              .trains = true,
              .keeps_label = args.window_batches == 0 && args.metrics != nullptr && !args.metrics->empty()}),
      scores({.context = args.context,
              .loss = args.loss,
              .metrics = args.metrics,
              .prediction = args.model.output(),
              .label = fields.label(),
              .weighted = fields.weighted(),
              .batches = std::max<int64_t>(args.window_batches, 1)}),
      plans(args.context, kMaxPlans),
      rules(args.gradients, args.context.device(), args.model.parameter_block().spec()) {
  if (args.gradients.check_finite && !args.model.states().empty()) {
    state_before_batch.emplace(args.model, args.context);
    state_before_update.emplace(args.model, args.context);
  }
  plan_updates();
  host_scalars.resize(static_cast<size_t>(args.optimizer.scalar_count()));
  scalars = Memory(args.context.device(), sizeof(float) * host_scalars.size());
  pass_counter = Memory(args.context.device(), sizeof(uint64_t));
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

std::unique_ptr<TrainStep::Impl::Plan> TrainStep::Impl::make_plan(int64_t rows) {
  auto plan = std::make_unique<Plan>();
  plan->rows = rows;
  plan->inputs.emplace(fields, args.context.device(), rows);
  plan->model = std::make_unique<ModelPlan>(
      args.model, args.context,
      ModelPlanArgs{.inputs = plan->inputs->model_shapes(),
                    .mode = Mode::train,
                    .gradient_target = in_place() ? GradientTarget::parameters : rules.target()});
  plan->scores = scores.plan(plan->model->output(), plan->inputs->label_shape());
  if (!plan->model->in_place() && !gradients) {
    gradients = Memory(args.context.device(), args.model.parameter_block().spec().bytes());
  }
  plan->bytes = plan->inputs->bytes() + plan->model->bytes() + plan->scores->bytes();
  return plan;
}

void TrainStep::Impl::write_counts() {
  args.optimizer.scalars(updates, host_scalars);
  args.context.copy(scalars.data(), host_scalars.data(), sizeof(float) * host_scalars.size());
  args.context.copy(pass_counter.data(), &forward_passes, sizeof forward_passes);
}

TensorView TrainStep::Impl::gradient_block() const { return part_of(gradients, 0, args.model.parameter_block()); }

StepOutcome TrainStep::Impl::update() {
  const TraceRange range(args.context.executor().trace(), "step", "update");
  const auto batches = static_cast<uint64_t>(rules.gathered());
  const float* scale = rules.finish(args.context, gradient_block());
  if (args.gradients.check_finite && !rules.finite(args.context)) {
    skipped += batches;
    if (state_before_update) state_before_update->give_back();
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

size_t TrainStep::Impl::bytes_beside_plans() const {
  size_t total = gradients.bytes() + rules.bytes() + scalars.bytes() + pass_counter.bytes() + scores.bytes();
  for (const Memory& slot : slot_memory) total += slot.bytes();
  for (const auto* copy : {&state_before_batch, &state_before_update}) total += *copy ? (*copy)->bytes() : 0;
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

void TrainStep::prepare(int64_t rows) {
  impl_->plans.get(rows, [&] { return impl_->make_plan(rows); });
}

StepOutcome TrainStep::run(const RowBlock& batch) {
  Impl& impl = *impl_;
  Impl::Plan& plan = impl.plans.use(batch.size(), [&] { return impl.make_plan(batch.size()); });
  Context& context = impl.args.context;
  impl.error_row = -1;
  Trace* const trace = context.executor().trace();
  try {
    const TraceRange range(trace, "step", "load");
    plan.inputs->load(context, batch);
  } catch (const DataError&) {
    impl.error_row = plan.inputs->error_row();
    throw;
  }
  impl.write_counts();
  if (impl.state_before_batch) impl.state_before_batch->take();
  if (impl.state_before_update && impl.rules.gathered() == 0) impl.state_before_update->take();

  const std::span<const ConstTensorView> inputs = plan.inputs->model();
  const auto* pass = static_cast<const uint64_t*>(impl.pass_counter.data());
  {
    const TraceRange range(trace, "step", "forward");
    plan.model->forward(context, inputs, pass);
  }
  {
    const TraceRange range(trace, "step", "loss");
    impl.scores.run(*plan.scores, {.prediction = plan.model->output(),
                                   .label = plan.inputs->label(),
                                   .weight = plan.inputs->weight(),
                                   .gradient = plan.model->output_gradient()});
  }
  ++impl.forward_passes;
  if (impl.args.gradients.check_finite && !std::isfinite(impl.scores.batch_loss())) {
    ++impl.skipped;
    if (impl.state_before_batch) impl.state_before_batch->give_back();
    return StepOutcome::loss_not_finite;
  }
  if (impl.args.window_batches > 0) impl.scores.add();
  if (plan.model->in_place()) {
    const TraceRange range(trace, "step", "backward and update");
    plan.model->backward(context, inputs, pass, static_cast<const float*>(impl.scalars.data()), TensorView());
    ++impl.updates;
    return StepOutcome::trained;
  }
  const TensorView gradients = impl.gradient_block();
  const float* alpha = impl.rules.begin_batch(context, impl.scores.device_loss(), gradients);
  {
    const TraceRange range(trace, "step", "backward");
    plan.model->backward(context, inputs, pass, alpha, gradients);
  }
  return impl.rules.complete() ? impl.update() : StepOutcome::trained;
}

StepOutcome TrainStep::flush() { return impl_->rules.gathered() > 0 ? impl_->update() : StepOutcome::trained; }

double TrainStep::loss() { return impl_->args.window_batches > 0 ? impl_->scores.loss() : batch_loss(); }

const std::vector<double>& TrainStep::metrics() {
  Impl& impl = *impl_;
  if (impl.args.window_batches == 0 && impl.scores.ran()) {
    impl.args.context.executor().run([&] {
      impl.scores.reset();
      impl.scores.add();
    });
  }
  return impl.scores.metrics();
}

void TrainStep::start_window() { impl_->scores.reset(); }

double TrainStep::batch_loss() { return impl_->scores.batch_loss(); }

uint64_t TrainStep::steps() const { return impl_->forward_passes; }

uint64_t TrainStep::updates() const { return impl_->updates; }

uint64_t TrainStep::skipped() const { return impl_->skipped; }

void TrainStep::resume(uint64_t steps, uint64_t updates) {
  impl_->forward_passes = steps;
  impl_->updates = updates;
}

const std::vector<TensorView>& TrainStep::slots() const { return impl_->slots; }

int64_t TrainStep::error_row() const { return impl_->error_row; }

size_t TrainStep::bytes() const { return impl_->bytes_beside_plans() + impl_->plans.bytes(); }

size_t TrainStep::memory_bound(int64_t rows) {
  const size_t plan = impl_->plans.get(rows, [&] { return impl_->make_plan(rows); }).bytes;
  return impl_->bytes_beside_plans() + kBatchSizes * plan;
}

}  // namespace millrace
