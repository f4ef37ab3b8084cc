#include "millrace/trainer/step/step.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/event.h"
#include "millrace/core/text.h"
#include "millrace/core/trace.h"
#include "millrace/trainer/step/flights.h"
#include "millrace/trainer/step/model_copy.h"
#include "millrace/trainer/step/parameter_update.h"
#include "millrace/trainer/step/plan_cache.h"
#include "millrace/trainer/step/step_inputs.h"
#include "millrace/trainer/step/step_plan.h"

namespace millrace {

struct TrainStep::Impl {
  using Plan = StepPlan;
  using Slot = StepPlan::Slot;

  explicit Impl(const StepArgs& step_args);
  std::unique_ptr<Plan> make_plan(int64_t rows);
  Plan& get_plan(int64_t rows);
  void load(Flight& flight, Slot& slot, const RowBlock& batch);
  StepOutcome train(Plan& plan, Slot& slot, Flight& flight, bool launched);
  void play(Plan& plan, Slot& slot, size_t part, FunctionRef<void()> work);
  void run_before(Plan& plan, Slot& slot, Flight& flight);
  void run_behind(Plan& plan, Slot& slot, Flight& flight);
  void apply_update(const float* scale);
  StepOutcome judge_update();
  StepOutcome end_update();
  void join(Flight& flight);
  void join_all();
  bool windows() const { return args.window_batches > 0; }
  bool in_place() const { return args.optimizer.adds_scaled_gradient() && !args.gradients.any(); }
  TensorView gradient_block() const;
  size_t bytes_beside_plans() const;

  StepArgs args;
  StepFields fields;
  Scores scores;

  Memory gradients;  // laid out like the parameter block; empty when backward updates in place
  GradientRules rules;
  // What the layers' states were before the running batch, and before the first batch of its update; where batches may
  // be skipped.
  std::optional<StateCopy> state_before_batch, state_before_update;
  ParameterUpdate parameter_update;

  std::optional<Context> copies;  // brings batches while others are trained on
  Context fetches;                // takes scores to the host while gradients are made
  Event scored, fetched;
  Flights flights;
  // What layers and optimizer count.
  uint64_t forward_passes = 0, updates = 0, skipped = 0;
  bool judged = false;  // the metrics of the last batch are there
  bool recorded = false;
  std::string not_recorded;
  int64_t error_row = -1;

  PlanCache<Plan> plans;  // last: what they recorded refers to the others
};

TrainStep::Impl::Impl(const StepArgs& step_args)
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
      fetches(args.context.device(), args.context.executor()),
      scored(args.context.device()),
      fetched(args.context.device()),
      flights(args.context, args.optimizer,
              args.context.device().is_cpu() ? 1 : std::max<int64_t>(args.batches_in_flight, 1)),
      plans(args.context, kMaxPlans) {
  const Device device = args.context.device();
  if (args.gradients.check_finite && !args.model.states().empty()) {
    state_before_batch.emplace(args.model, args.context);
    state_before_update.emplace(args.model, args.context);
  }
  if (flights.size() > 1) copies.emplace(device, args.context.executor());
}

std::unique_ptr<StepPlan> TrainStep::Impl::make_plan(int64_t rows) {
  auto plan =
      std::make_unique<Plan>(StepPlanArgs{.model = args.model,
                                          .context = args.context,
                                          .fields = fields,
                                          .scores = scores,
                                          .gradient_target = in_place() ? GradientTarget::parameters : rules.target(),
                                          .slots = flights.size()},
                             rows);
  if (!plan->model->in_place() && !gradients) {
    gradients = Memory(args.context.device(), args.model.parameter_block().spec().bytes());
  }
  return plan;
}

StepPlan& TrainStep::Impl::get_plan(int64_t rows) {
  // A plan may go for a new one, and a batch in flight may be of that.
  if (!plans.contains(rows)) join_all();
  return plans.get(rows, [&] { return make_plan(rows); });
}

void TrainStep::Impl::load(Flight& flight, Slot& slot, const RowBlock& batch) {
  const TraceRange range(args.context.executor().trace(), "step", "load");
  Context& loads = copies ? *copies : args.context;
  flight.read.synchronize();               // what it was converted in is free
  loads.wait_for(flights.end_of(flight));  // where it was copied to is free by then
  try {
    if (!args.one_batch || !slot.loaded) slot.inputs.load(loads, batch);
    slot.loaded = true;
  } catch (const DataError&) {
    error_row = slot.inputs.error_row();
    flights.of(flights.batches() + 1).read.synchronize();  // as run() does at its end
    flights.launch();
    throw;
  }
  flight.numbers.write(forward_passes, updates);
  flight.numbers.bring(loads);
  loads.record(flight.read);
}

TensorView TrainStep::Impl::gradient_block() const {
  const TensorView block = args.model.parameter_block();
  return TensorView(gradients.data(), block.dtype(), block.shape());
}

// Up to the loss. The scores go to the host beside what follows, until somebody waits for `fetched`.
void TrainStep::Impl::run_before(Plan& plan, Slot& slot, Flight& flight) {
  Context& context = args.context;
  {
    const TraceRange range(context.executor().trace(), "step", "forward");
    plan.model->forward(context, slot.inputs.model(), flight.numbers.pass());
  }
  const TraceRange range(context.executor().trace(), "step", "loss");
  scores.run(*plan.scores, plan.scored(slot));
  if (windows()) scores.judge(*plan.scores, plan.scored(slot));
  context.record(scored);
  fetches.wait_for(scored);
  scores.fetch(fetches, *plan.scores, windows(), slot.scores);
  fetches.record(fetched);
}

void TrainStep::Impl::run_behind(Plan& plan, Slot& slot, Flight& flight) {
  Context& context = args.context;
  const StepNumbers& numbers = flight.numbers;
  if (plan.model->in_place()) {
    const TraceRange range(context.executor().trace(), "step", "backward and update");
    plan.model->backward(context, slot.inputs.model(), numbers.pass(), numbers.scalars(), TensorView());
    return;
  }
  const float* const alpha = rules.begin_batch(context, scores.device_loss(), gradient_block());
  {
    const TraceRange range(context.executor().trace(), "step", "backward");
    plan.model->backward(context, slot.inputs.model(), numbers.pass(), alpha, gradient_block());
  }
  if (rules.next_completes() && !args.gradients.check_finite) apply_update(rules.finish(context, gradient_block()));
}

void TrainStep::Impl::apply_update(const float* scale) {
  const TraceRange range(args.context.executor().trace(), "step", "update");
  parameter_update.apply(gradients, flights.last().numbers.scalars(), scale);
}

// Where gradients are checked before they are used.
StepOutcome TrainStep::Impl::judge_update() {
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

void TrainStep::Impl::play(Plan& plan, Slot& slot, size_t part, FunctionRef<void()> work) {
  const Replay& replay = plan.play(args.context, slot, part, work);
  recorded = recorded && replay.recorded();
  if (not_recorded.empty()) not_recorded = replay.failure();
}

// `launched`: the device has the step already, or soon will.
StepOutcome TrainStep::Impl::train(Plan& plan, Slot& slot, Flight& flight, bool launched) {
  Context& context = args.context;
  recorded = true;
  const size_t kind = (rules.gathered() == 0 ? 1U : 0U) + (rules.next_completes() ? 2U : 0U);
  if (args.gradients.check_finite) {
    play(plan, slot, Plan::kBefore, [&] {
      run_before(plan, slot, flight);
      context.wait_for(fetched);
    });
    ++forward_passes;
    context.record(flight.trained);
    flight.trained.synchronize();
    if (!std::isfinite(scores.loss_of(slot.scores))) {
      ++skipped;
      if (state_before_batch) state_before_batch->give_back();
      return StepOutcome::loss_not_finite;
    }
    play(plan, slot, Plan::kBehind + kind, [&] { run_behind(plan, slot, flight); });
  } else {
    if (!launched) {
      play(plan, slot, Plan::kWhole + kind, [&] {
        run_before(plan, slot, flight);
        run_behind(plan, slot, flight);
        context.wait_for(fetched);
      });
    }
    ++forward_passes;
  }
  flight.unjoined = windows();
  if (plan.model->in_place()) {
    ++updates;
    return StepOutcome::trained;
  }
  rules.count_batch();
  if (!rules.complete()) return StepOutcome::trained;
  return args.gradients.check_finite ? judge_update() : end_update();
}

StepOutcome TrainStep::Impl::end_update() {
  rules.begin_anew();
  ++updates;
  return StepOutcome::trained;
}

// Waits until what the batch used is free.
void TrainStep::Impl::join(Flight& flight) {
  flights.end_of(flight).synchronize();
  if (std::exchange(flight.unjoined, false)) scores.join(*flight.plan->scores, flight.slot->scores);
}

void TrainStep::Impl::join_all() {
  flights.launch();
  for (size_t i = 0; i < flights.size(); ++i) join(flights.of(flights.batches() + i));
}

size_t TrainStep::Impl::bytes_beside_plans() const {
  size_t total = gradients.bytes() + rules.bytes() + scores.bytes() + parameter_update.bytes() + flights.bytes();
  for (const auto* copy : {&state_before_batch, &state_before_update}) total += *copy ? (*copy)->bytes() : 0;
  return total;
}

TrainStep::TrainStep(const StepArgs& args) : impl_(std::make_unique<Impl>(args)) {}

TrainStep::~TrainStep() {
  drain();
  if (impl_->copies) impl_->copies->drain();
  impl_->fetches.drain();
  impl_->args.context.drain();
}

void TrainStep::prepare(int64_t rows) { impl_->get_plan(rows); }

StepOutcome TrainStep::run(const RowBlock& batch, bool later) {
  Impl& impl = *impl_;
  Impl::Plan& plan = impl.get_plan(batch.size());
  Flight& flight = impl.flights.next();
  Impl::Slot& slot = plan.slots[impl.flights.next_slot()];
  impl.error_row = -1;
  impl.load(flight, slot, batch);
  impl.join(flight);
  if (impl.state_before_batch) impl.state_before_batch->take();
  if (impl.state_before_update && impl.rules.gathered() == 0) impl.state_before_update->take();

  impl.plans.use(plan);
  impl.flights.take_off(plan);
  impl.judged = false;
  const bool launched = impl.flights.launches(later);
  if (!launched) impl.args.context.wait_for(flight.read);
  const StepOutcome outcome = impl.train(plan, slot, flight, launched);
  if (!launched) impl.flights.landed();
  // So that its batch may change.
  impl.flights.next().read.synchronize();
  return outcome;
}

void TrainStep::launch() { impl_->flights.launch(); }
void TrainStep::drain() noexcept { impl_->flights.drain(); }

StepOutcome TrainStep::flush() {
  Impl& impl = *impl_;
  impl.flights.launch();
  if (impl.rules.gathered() == 0) return StepOutcome::trained;
  StepOutcome outcome = StepOutcome::trained;
  if (impl.args.gradients.check_finite) {
    outcome = impl.judge_update();
  } else {
    impl.apply_update(impl.rules.finish(impl.args.context, impl.gradient_block()));
    outcome = impl.end_update();
  }
  // Until then its numbers are read.
  impl.flights.landed();
  return outcome;
}

double TrainStep::loss() {
  if (!impl_->windows()) return batch_loss();
  impl_->join_all();
  return impl_->scores.loss();
}

const std::vector<double>& TrainStep::metrics() {
  Impl& impl = *impl_;
  if (impl.windows()) {
    impl.join_all();
  } else if (impl.flights.batches() > 0) {
    impl.flights.launch();
    const Flight& last = impl.flights.last();
    impl.args.context.executor().run([&] {
      if (!std::exchange(impl.judged, true)) impl.scores.judge(*last.plan->scores, last.plan->scored(*last.slot));
      impl.scores.fetch(impl.args.context, *last.plan->scores, true, last.slot->scores);
      impl.args.context.synchronize();
      impl.scores.reset();
      impl.scores.join(*last.plan->scores, last.slot->scores);
    });
  }
  return impl.scores.metrics();
}

void TrainStep::start_window() {
  for (size_t i = 0; i < impl_->flights.size(); ++i) impl_->flights.of(i).unjoined = false;
  impl_->scores.reset();
}

double TrainStep::batch_loss() {
  impl_->flights.launch();
  const Flight& last = impl_->flights.last();
  impl_->flights.end_of(last).synchronize();
  return impl_->scores.loss_of(last.slot->scores);
}

bool TrainStep::recorded() const { return impl_->recorded; }
uint64_t TrainStep::groups() const { return impl_->flights.groups(); }
const std::string& TrainStep::not_recorded() const {
  return impl_->not_recorded.empty() ? impl_->flights.failure() : impl_->not_recorded;
}
uint64_t TrainStep::steps() const { return impl_->forward_passes; }
uint64_t TrainStep::updates() const { return impl_->updates; }
uint64_t TrainStep::skipped() const { return impl_->skipped; }

void TrainStep::resume(uint64_t steps, uint64_t updates) {
  impl_->forward_passes = steps;
  impl_->updates = updates;
}

const std::vector<TensorView>& TrainStep::slots() const { return impl_->parameter_update.slots(); }

int64_t TrainStep::error_row() const { return impl_->error_row; }

size_t TrainStep::bytes() const { return impl_->bytes_beside_plans() + impl_->plans.bytes(); }

size_t TrainStep::memory_bound(int64_t rows) {
  const size_t plan = impl_->get_plan(rows).bytes;
  return impl_->bytes_beside_plans() + kBatchSizes * plan;
}

}  // namespace millrace
