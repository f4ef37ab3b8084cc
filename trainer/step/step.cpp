#include "millrace/trainer/step/step.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/core/trace.h"
#include "millrace/trainer/step/flying_step.h"

namespace millrace {

namespace {

GradientOptions rules_of(const StepArgs& args) {
  GradientOptions out = args.gradients;
  out.check_squares = attributed(args.optimizer, &Optimizer::state_slots) > 0;
  return out;
}

}  // namespace

std::unique_ptr<TrainStep> TrainStep::make(const StepArgs& args) {
  if (args.context.device().is_cpu()) return std::unique_ptr<TrainStep>(new TrainStep(args, 1));
  return std::make_unique<FlyingStep>(args);
}

TrainStep::TrainStep(const StepArgs& args, size_t places)
    : args_(args),
      places_(places),
      fields_({.model = args_.model,
               .rows = args_.rows,
               .loss = &args_.loss,
               .label = args_.label,
               .weight = args_.weight,
               .trains = true,
               .keeps_label = !windows() && args_.metrics != nullptr && !args_.metrics->empty()}),
      scores_({.context = args_.context,
               .loss = args_.loss,
               .metrics = args_.metrics,
               .prediction = args_.model.output(),
               .label = fields_.label(),
               .weighted = fields_.weighted(),
               .batches = std::max<int64_t>(args_.window_batches, 1),
               .direct = args_.gradients.accumulate == 1 && !fields_.weighted()}),
      rules_(rules_of(args_), args_.context.device(), args_.model.parameter_block().spec()),
      parameter_update_(args_.model, args_.context, args_.optimizer),
      state_check_(args_.model, args_.context.device(), parameter_update_.slots()),
      plans_(args_.context, kMaxPlans) {
  if (args_.gradients.check_finite && !args_.model.states().empty()) {
    state_before_batch_.emplace(args_.model, args_.context, ModelCopy::Of::states);
    state_before_update_.emplace(args_.model, args_.context, ModelCopy::Of::states);
  }
}

std::unique_ptr<StepPlan> TrainStep::make_plan(int64_t rows) {
  auto made = std::make_unique<StepPlan>(
      StepPlanArgs{.model = args_.model,
                   .context = args_.context,
                   .optimizer = args_.optimizer,
                   .fields = fields_,
                   .scores = scores_,
                   .gradient_target = in_place() ? GradientTarget::parameters : rules_.target(),
                   .slots = places_},
      rows);
  if (!in_place()) make_gradients();
  return made;
}

void TrainStep::make_gradients() {
  if (!gradients_) gradients_ = Memory(args_.context.device(), args_.model.parameter_block().spec().bytes());
}

StepPlan& TrainStep::plan_for(int64_t rows) {
  // A new plan may replace one that a batch under way still uses.
  if (!plans_.contains(rows)) finish();
  return plans_.get(rows, [&] { return make_plan(rows); });
}

StepOutcome TrainStep::run(const RowBlock& batch) {
  StepPlan& of_size = plan_for(batch.size());
  load(args_.context, of_size.slots[0], batch);
  begin(of_size, of_size.slots[0]);

  forward();
  score();
  fetch(args_.context);
  ++steps_;
  if (const StepOutcome outcome = check(); outcome != StepOutcome::trained) return outcome;
  if (windows()) scores_.join(*plan_->scores, slot_->scores);

  backward();
  return end_batch();
}

void TrainStep::load(Context& loads, StepPlan::Slot& to, const RowBlock& batch) {
  const TraceRange range(args_.context.executor().trace(), "step", "load");
  if (!args_.one_batch || !to.loaded) to.inputs.load(loads, batch);
  to.loaded = true;
  to.numbers.bring(loads, steps_, updates_);
}

void TrainStep::begin(StepPlan& of, StepPlan::Slot& in) {
  if (state_before_batch_) state_before_batch_->take();
  if (state_before_update_ && rules_.gathered() == 0) state_before_update_->take();
  plans_.use(of);
  plan_ = &of;
  slot_ = &in;
  judged_ = false;
}

void TrainStep::forward() {
  const TraceRange range(args_.context.executor().trace(), "step", "forward");
  plan_->model->forward(args_.context, slot_->inputs.model(), slot_->numbers.pass());
}

void TrainStep::score() {
  const TraceRange range(args_.context.executor().trace(), "step", "loss");
  scores_.run(*plan_->scores, plan_->scored(*slot_));
  if (windows()) scores_.judge(*plan_->scores, plan_->scored(*slot_));
  if (args_.gradients.check_finite) state_check_.look(args_.context);
}

void TrainStep::fetch(Context& fetches) {
  scores_.fetch(fetches, *plan_->scores, windows(), slot_->scores);
  if (args_.gradients.check_finite) state_check_.fetch(fetches);
}

StepOutcome TrainStep::check() {
  if (!args_.gradients.check_finite) return StepOutcome::trained;
  const StepOutcome outcome = found();
  if (outcome == StepOutcome::trained) return outcome;
  ++skipped_;
  if (state_before_batch_) state_before_batch_->give_back();
  return outcome;
}

// Judges by the numbers that were fetched.
StepOutcome TrainStep::found() {
  if (!last_loss().fine()) return StepOutcome::loss_not_finite;
  if (state_check_.finite()) return StepOutcome::trained;
  state_not_finite_ = state_check_.first(args_.context);
  return StepOutcome::state_not_finite;
}

void TrainStep::backward() {
  Context& context = args_.context;
  if (in_place()) {
    const TraceRange range(context.executor().trace(), "step", "backward and update");
    plan_->model->backward(context, slot_->inputs.model(), slot_->numbers.pass(), slot_->numbers.scalars(),
                           TensorView());
    return;
  }
  const float* const alpha = rules_.begin_batch(context, scores_.device_loss(), gradient_block());
  {
    const TraceRange range(context.executor().trace(), "step", "backward");
    plan_->model->backward(context, slot_->inputs.model(), slot_->numbers.pass(), alpha, gradient_block());
  }
  if (rules_.next_completes() && !args_.gradients.check_finite) apply_update(rules_.finish(context, gradient_block()));
}

StepOutcome TrainStep::end_batch() {
  if (in_place()) {
    ++updates_;
    return StepOutcome::trained;
  }
  rules_.count_batch();
  if (!rules_.complete()) return StepOutcome::trained;
  return args_.gradients.check_finite ? make_update() : end_update();
}

StepOutcome TrainStep::flush() { return rules_.gathered() == 0 ? StepOutcome::trained : make_update(); }

TensorView TrainStep::gradient_block() const {
  const TensorView block = args_.model.parameter_block();
  return TensorView(gradients_.data(), block.dtype(), block.shape());
}

void TrainStep::apply_update(const float* scale) {
  const TraceRange range(args_.context.executor().trace(), "step", "update");
  const StepNumbers& numbers = slot_ != nullptr ? slot_->numbers : *restored_numbers_;
  parameter_update_.apply(gradients_, numbers.scalars(), scale);
}

// Makes the update or, if the gradients are to be checked and are not finite, skips its batches.
StepOutcome TrainStep::make_update() {
  const float* const scale = rules_.finish(args_.context, gradient_block());
  if (args_.gradients.check_finite && !rules_.finite(args_.context)) {
    skipped_ += static_cast<uint64_t>(rules_.gathered());
    rules_.begin_anew();
    if (state_before_update_) state_before_update_->give_back();
    return StepOutcome::gradient_not_finite;
  }
  apply_update(scale);
  return end_update();
}

StepOutcome TrainStep::end_update() {
  rules_.begin_anew();
  ++updates_;
  return StepOutcome::trained;
}

Model& TrainStep::model() {
  settle();
  return args_.model;
}

const std::vector<TensorView>& TrainStep::slots() {
  settle();
  return parameter_update_.slots();
}

void TrainStep::resume(uint64_t steps, uint64_t updates) {
  steps_ = steps;
  updates_ = updates;
}

double TrainStep::loss() {
  if (!windows()) return batch_loss();
  finish();
  return scores_.loss();
}

double TrainStep::batch_loss() {
  finish();
  return last_loss().mean;
}

Scores::BatchLoss TrainStep::last_loss() const {
  if (slot_ != nullptr) return scores_.loss_of(slot_->scores);
  // A restored state may have steps, but no loss. The loss is then the same as if no row had counted.
  return restored_loss_.value_or(Scores::BatchLoss{.mean = std::numeric_limits<double>::quiet_NaN(), .weight = 0});
}

StepOutcome TrainStep::look() {
  finish();
  if (!args_.model.states().empty()) {
    state_check_.look(args_.context);
    state_check_.fetch(args_.context);
    args_.context.synchronize();
  }
  return found();
}

bool TrainStep::optimizer_is_finite() {
  finish();
  return state_check_.slots_finite(args_.context);
}

const MetricValues& TrainStep::metrics() {
  finish();
  if (!windows() && plan_ != nullptr) judge_last();
  return scores_.metrics();
}

// Computes the scores of the last batch. REQUIRES: no windows.
void TrainStep::judge_last() {
  args_.context.executor().run([&] {
    if (!std::exchange(judged_, true)) scores_.judge(*plan_->scores, plan_->scored(*slot_));
    scores_.fetch(args_.context, *plan_->scores, true, slot_->scores);
    args_.context.synchronize();
    scores_.reset();
    scores_.join(*plan_->scores, slot_->scores);
  });
}

void TrainStep::save(State& state) {
  finish();
  state.set("steps", steps_);
  state.set("updates", updates_);
  state.set("skipped", skipped_);
  rules_.save(args_.context, state.scope("update"));
  if (slot_ != nullptr || restored_loss_) {
    state.set_real("loss", last_loss().mean);
    state.set_real("weight", last_loss().weight);
  }
  if (!windows() && plan_ != nullptr) judge_last();
  scores_.save(state.scope("scores"));
}

void TrainStep::restore(const State& state) {
  const uint64_t steps = state.count("steps"), updates = state.count("updates"), skipped = state.count("skipped");
  std::optional<Scores::BatchLoss> loss;
  if (state.has("loss")) loss = {.mean = state.real("loss"), .weight = state.real("weight")};
  rules_.restore(args_.context, state.scope("update"));
  scores_.restore(state.scope("scores"));
  steps_ = steps;
  updates_ = updates;
  skipped_ = skipped;
  restored_loss_ = loss;
  if (rules_.gathered() == 0) return;
  make_gradients();
  restored_numbers_.emplace(args_.context.device(), args_.optimizer);
  restored_numbers_->bring(args_.context, steps_, updates_);
}

void TrainStep::list(std::vector<NamedTensor>& out, bool all) {
  settle();
  Model& model = args_.model;
  list_parameters("", model, model.parameter_block(), out);
  for (size_t i = 0; i < model.states().size(); ++i) out.push_back({model.states()[i].name, model.state(i)});
  const std::vector<TensorView>& slots = parameter_update_.slots();
  for (size_t i = 0; i < slots.size(); ++i) list_parameters(cat("optimizer/", i, '/'), model, slots[i], out);
  if (all ? args_.gradients.accumulate == 1 : rules_.gathered() == 0) return;
  // Gradients that are not there yet have the parameters' shapes.
  list_parameters("gradients/", model, gradients_ ? gradient_block() : model.parameter_block(), out);
  if (state_before_update_) state_before_update_->list("before/", out);
}

size_t TrainStep::memory_bound(int64_t rows) {
  const size_t plan = plan_for(rows).bytes;  // first, because making it may take memory besides the plan
  return bytes_beside_plans() + kBatchSizes * plan;
}

size_t TrainStep::bytes_beside_plans() const {
  size_t total =
      gradients_.bytes() + rules_.bytes() + scores_.bytes() + parameter_update_.bytes() + state_check_.bytes();
  for (const auto* copy : {&state_before_batch_, &state_before_update_}) total += *copy ? (*copy)->bytes() : 0;
  return total;
}

}  // namespace millrace
