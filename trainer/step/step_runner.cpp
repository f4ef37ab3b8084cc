#include "millrace/trainer/step/step_runner.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/trace.h"

namespace millrace {

StepRunner::StepRunner(const StepArgs& step_args, size_t places)
    : args(step_args),
      fields({.model = args.model,
              .rows = args.rows,
              .loss = &args.loss,
              .label = args.label,
              .weight = args.weight,
              .trains = true,
              .keeps_label = !windows() && args.metrics != nullptr && !args.metrics->empty()}),
      scores({.context = args.context,
              .loss = args.loss,
              .metrics = args.metrics,
              .prediction = args.model.output(),
              .label = fields.label(),
              .weighted = fields.weighted(),
              .batches = std::max<int64_t>(args.window_batches, 1)}),
      rules(args.gradients, args.context.device(), args.model.parameter_block().spec()),
      parameter_update(args.model, args.context, args.optimizer),
      slots(places),
      plans(args.context, TrainStep::kMaxPlans) {
  if (args.gradients.check_finite && !args.model.states().empty()) {
    state_before_batch.emplace(args.model, args.context);
    state_before_update.emplace(args.model, args.context);
  }
}

std::unique_ptr<StepPlan> StepRunner::make_plan(int64_t rows) {
  auto made = std::make_unique<StepPlan>(
      StepPlanArgs{.model = args.model,
                   .context = args.context,
                   .optimizer = args.optimizer,
                   .fields = fields,
                   .scores = scores,
                   .gradient_target = in_place() ? GradientTarget::parameters : rules.target(),
                   .slots = slots},
      rows);
  if (!in_place() && !gradients) gradients = Memory(args.context.device(), args.model.parameter_block().spec().bytes());
  return made;
}

StepPlan& StepRunner::plan_for(int64_t rows) {
  // A new plan may replace one that a batch under way still uses.
  if (!plans.contains(rows)) finish();
  return plans.get(rows, [&] { return make_plan(rows); });
}

void StepRunner::load(Context& loads, StepPlan::Slot& to, const RowBlock& batch) {
  const TraceRange range(args.context.executor().trace(), "step", "load");
  error_row = -1;
  try {
    if (!args.one_batch || !to.loaded) to.inputs.load(loads, batch);
    to.loaded = true;
  } catch (const DataError&) {
    error_row = to.inputs.error_row();
    throw;
  }
  to.numbers.bring(loads, forward_passes, updates);
}

void StepRunner::begin(StepPlan& of, StepPlan::Slot& in) {
  if (state_before_batch) state_before_batch->take();
  if (state_before_update && rules.gathered() == 0) state_before_update->take();
  plans.use(of);
  plan = &of;
  slot = &in;
  judged = false;
}

void StepRunner::forward() {
  const TraceRange range(args.context.executor().trace(), "step", "forward");
  plan->model->forward(args.context, slot->inputs.model(), slot->numbers.pass());
}

void StepRunner::score() {
  const TraceRange range(args.context.executor().trace(), "step", "loss");
  scores.run(*plan->scores, plan->scored(*slot));
  if (windows()) scores.judge(*plan->scores, plan->scored(*slot));
}

bool StepRunner::loss_is_fine() const {
  return !args.gradients.check_finite || std::isfinite(scores.loss_of(slot->scores));
}

StepOutcome StepRunner::skip_batch() {
  ++skipped;
  if (state_before_batch) state_before_batch->give_back();
  return StepOutcome::loss_not_finite;
}

void StepRunner::backward() {
  Context& context = args.context;
  if (in_place()) {
    const TraceRange range(context.executor().trace(), "step", "backward and update");
    plan->model->backward(context, slot->inputs.model(), slot->numbers.pass(), slot->numbers.scalars(), TensorView());
    return;
  }
  const float* const alpha = rules.begin_batch(context, scores.device_loss(), gradient_block());
  {
    const TraceRange range(context.executor().trace(), "step", "backward");
    plan->model->backward(context, slot->inputs.model(), slot->numbers.pass(), alpha, gradient_block());
  }
  if (rules.next_completes() && !args.gradients.check_finite) apply_update(rules.finish(context, gradient_block()));
}

StepOutcome StepRunner::end_batch() {
  if (in_place()) {
    ++updates;
    return StepOutcome::trained;
  }
  rules.count_batch();
  if (!rules.complete()) return StepOutcome::trained;
  return args.gradients.check_finite ? judge_update() : end_update();
}

StepOutcome StepRunner::flush() {
  if (rules.gathered() == 0) return StepOutcome::trained;
  if (args.gradients.check_finite) return judge_update();
  apply_update(rules.finish(args.context, gradient_block()));
  return end_update();
}

TensorView StepRunner::gradient_block() const {
  const TensorView block = args.model.parameter_block();
  return TensorView(gradients.data(), block.dtype(), block.shape());
}

void StepRunner::apply_update(const float* scale) {
  const TraceRange range(args.context.executor().trace(), "step", "update");
  parameter_update.apply(gradients, slot->numbers.scalars(), scale);
}

// Checks the gradients, then makes the update or skips its batches.
StepOutcome StepRunner::judge_update() {
  const auto gathered = static_cast<uint64_t>(rules.gathered());
  const float* const scale = rules.finish(args.context, gradient_block());
  if (!rules.finite(args.context)) {
    rules.begin_anew();
    skipped += gathered;
    if (state_before_update) state_before_update->give_back();
    return StepOutcome::gradient_not_finite;
  }
  apply_update(scale);
  return end_update();
}

StepOutcome StepRunner::end_update() {
  rules.begin_anew();
  ++updates;
  return StepOutcome::trained;
}

const std::vector<double>& StepRunner::metrics() {
  finish();
  if (windows() || plan == nullptr) return scores.metrics();
  args.context.executor().run([&] {
    if (!std::exchange(judged, true)) scores.judge(*plan->scores, plan->scored(*slot));
    scores.fetch(args.context, *plan->scores, true, slot->scores);
    args.context.synchronize();
    scores.reset();
    scores.join(*plan->scores, slot->scores);
  });
  return scores.metrics();
}

size_t StepRunner::bytes_beside_plans() const {
  size_t total = gradients.bytes() + rules.bytes() + scores.bytes() + parameter_update.bytes();
  for (const auto* copy : {&state_before_batch, &state_before_update}) total += *copy ? (*copy)->bytes() : 0;
  return total;
}

}  // namespace millrace
