#include "millrace/trainer/step/flying_step.h"

#include <algorithm>
#include <utility>

#include "millrace/core/errors.h"

namespace millrace {

FlyingStep::FlyingStep(const StepArgs& step_args)
    : StepRunner(step_args, static_cast<size_t>(std::max<int64_t>(step_args.batches_in_flight, 1))),
      fetches(args.context.device(), args.context.executor()),
      scored(args.context.device()),
      fetched(args.context.device()),
      flights(args.context, slots) {
  if (slots > 1) copies.emplace(args.context.device(), args.context.executor());
}

FlyingStep::~FlyingStep() {
  flights.drain();
  if (copies) copies->drain();
  fetches.drain();
  args.context.drain();
}

StepOutcome FlyingStep::run(const RowBlock& batch) {
  StepPlan& of_size = plan_for(batch.size());
  Flight& flight = flights.next();
  StepPlan::Slot& place = of_size.slots[flights.next_slot()];
  bring(flight, place, batch);
  join(flight);
  begin(of_size, place);
  flights.take_off(of_size);
  const bool launched = flights.launches();
  if (!launched) args.context.wait_for(flight.read);
  const StepOutcome outcome = train(flight, launched);
  if (!launched) flights.landed();
  groups = flights.groups();
  if (not_recorded.empty()) not_recorded = flights.failure();
  // Then the batch that this flight read may change.
  flights.next().read.synchronize();
  return outcome;
}

void FlyingStep::bring(Flight& flight, StepPlan::Slot& to, const RowBlock& batch) {
  Context& loads = copies ? *copies : args.context;
  flight.read.synchronize();               // the memory for converted values is free now
  loads.wait_for(flights.end_of(flight));  // the memory that batches are copied to is free by then
  try {
    load(loads, to, batch);
  } catch (const DataError&) {
    flights.of(flights.batches() + 1).read.synchronize();  // as run() does at its end
    throw;
  }
  loads.record(flight.read);
}

// `launched`: the device has the step already, or Flights will launch it.
StepOutcome FlyingStep::train(Flight& flight, bool launched) {
  Context& context = args.context;
  recorded = true;
  const size_t kind = (rules.gathered() == 0 ? 1U : 0U) + (rules.next_completes() ? 2U : 0U);
  if (args.gradients.check_finite) {
    play(StepPlan::kBefore, [&] {
      run_before();
      context.wait_for(fetched);
    });
    context.record(flight.trained);
    flight.trained.synchronize();
  } else if (!launched) {
    play(StepPlan::kWhole + kind, [&] {
      run_before();
      backward();
      context.wait_for(fetched);
    });
  }
  ++forward_passes;
  if (!loss_is_fine()) return skip_batch();
  if (args.gradients.check_finite) play(StepPlan::kBehind + kind, [&] { backward(); });
  flight.unjoined = windows();
  return end_batch();
}

void FlyingStep::play(size_t part, FunctionRef<void()> work) {
  const Replay& replay = plan->play(args.context, *slot, part, work);
  recorded = recorded && replay.recorded();
  if (not_recorded.empty()) not_recorded = replay.failure();
}

// The step up to the loss. The scores go to the host while the context goes on, until it waits for `fetched`.
void FlyingStep::run_before() {
  forward();
  score();
  args.context.record(scored);
  fetches.wait_for(scored);
  fetch(fetches);
  fetches.record(fetched);
}

// Waits until the step of the flight's batch has ended, then joins its scores if they belong to the window.
void FlyingStep::join(Flight& flight) {
  flights.end_of(flight).synchronize();
  if (std::exchange(flight.unjoined, false)) scores.join(*flight.plan->scores, flight.slot->scores);
}

void FlyingStep::finish() {
  flights.launch();
  for (size_t i = 0; i < flights.size(); ++i) join(flights.of(flights.batches() + i));
}

StepOutcome FlyingStep::flush() {
  flights.launch();
  if (rules.gathered() == 0) return StepOutcome::trained;
  const StepOutcome outcome = StepRunner::flush();
  // The numbers of the last flight are read until then.
  flights.landed();
  return outcome;
}

void FlyingStep::start_window() {
  for (size_t i = 0; i < flights.size(); ++i) flights.of(i).unjoined = false;
  StepRunner::start_window();
}

}  // namespace millrace
