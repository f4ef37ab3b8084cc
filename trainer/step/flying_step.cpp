#include "millrace/trainer/step/flying_step.h"

#include <algorithm>
#include <utility>

#include "millrace/core/errors.h"

namespace millrace {

FlyingStep::FlyingStep(const StepArgs& args)
    : TrainStep(args, static_cast<size_t>(std::max<int64_t>(args.batches_in_flight, 1))),
      fetches_(args_.context.device(), args_.context.executor()),
      scored_(args_.context.device()),
      fetched_(args_.context.device()),
      flights_(args_.context, places_) {
  if (places_ > 1) copies_.emplace(args_.context.device(), args_.context.executor());
}

FlyingStep::~FlyingStep() {
  flights_.drain();
  if (copies_) copies_->drain();
  fetches_.drain();
  args_.context.drain();
}

StepOutcome FlyingStep::run(const RowBlock& batch) {
  StepPlan& of_size = plan_for(batch.size());
  Flight& flight = flights_.next();
  StepPlan::Slot& place = of_size.slots[flights_.next_slot()];
  bring(flight, place, batch);
  join(flight);
  begin(of_size, place);
  flights_.take_off(of_size);
  const bool launched = flights_.launches();
  if (!launched) args_.context.wait_for(flight.read);
  const StepOutcome outcome = train(flight, launched);
  if (!launched) flights_.landed();
  groups_ = flights_.groups();
  if (not_recorded_.empty()) not_recorded_ = flights_.failure();
  // After this wait, the batch that the next flight read before may change.
  flights_.next().read.synchronize();
  return outcome;
}

void FlyingStep::bring(Flight& flight, StepPlan::Slot& to, const RowBlock& batch) {
  Context& loads = copies_ ? *copies_ : args_.context;
  flight.read.synchronize();                // the memory for converted values is free now
  loads.wait_for(flights_.end_of(flight));  // the memory that batches are copied to is free by then
  try {
    load(loads, to, batch);
  } catch (const DataError&) {
    flights_.of(flights_.batches() + 1).read.synchronize();  // like the end of run()
    throw;
  }
  loads.record(flight.read);
}

// `launched`: the device has the step already, or Flights will launch it.
StepOutcome FlyingStep::train(Flight& flight, bool launched) {
  Context& context = args_.context;
  recorded_ = true;
  const size_t kind = (rules_.gathered() == 0 ? 1U : 0U) + (rules_.next_completes() ? 2U : 0U);
  if (args_.gradients.check_finite) {
    play(StepPlan::kBefore, [&] {
      run_before();
      join_fetches();
    });
    context.record(flight.trained);
    flight.trained.synchronize();
  } else if (!launched) {
    play(StepPlan::kWhole + kind, [&] {
      run_before();
      backward();
      join_fetches();
    });
  }
  ++steps_;
  if (const StepOutcome outcome = check(); outcome != StepOutcome::trained) return outcome;
  if (args_.gradients.check_finite) play(StepPlan::kBehind + kind, [&] { backward(); });
  flight.unjoined = windows();
  return end_batch();
}

void FlyingStep::play(size_t part, FunctionRef<void()> work) {
  const Replay& replay = plan_->play(args_.context, *slot_, part, work);
  recorded_ = recorded_ && replay.recorded();
  if (not_recorded_.empty()) not_recorded_ = replay.failure();
}

bool FlyingStep::fetches() const { return args_.gradients.check_finite || scores_.fetches(windows()); }

// The step up to the loss. The scores go to the host while the context goes on, until join_fetches().
void FlyingStep::run_before() {
  forward();
  score();
  if (!fetches()) return;
  args_.context.record(scored_);
  fetches_.wait_for(scored_);
  fetch(fetches_);
  fetches_.record(fetched_);
}

void FlyingStep::join_fetches() {
  if (fetches()) args_.context.wait_for(fetched_);
}

// Waits until the step of the flight's batch has ended, then joins its scores if they belong to the window.
void FlyingStep::join(Flight& flight) {
  flights_.end_of(flight).synchronize();
  if (std::exchange(flight.unjoined, false)) scores_.join(*flight.plan->scores, flight.slot->scores);
}

void FlyingStep::finish() {
  flights_.launch();
  for (size_t i = 0; i < flights_.size(); ++i) join(flights_.of(flights_.batches() + i));
}

StepOutcome FlyingStep::flush() {
  flights_.launch();
  if (rules_.gathered() == 0) return StepOutcome::trained;
  const StepOutcome outcome = TrainStep::flush();
  // The update reads the numbers of the last flight, so that flight ends only now.
  flights_.landed();
  return outcome;
}

void FlyingStep::start_window() {
  for (size_t i = 0; i < flights_.size(); ++i) flights_.of(i).unjoined = false;
  TrainStep::start_window();
}

}  // namespace millrace
