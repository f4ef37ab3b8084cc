#include "millrace/trainer/step/flights.h"

namespace millrace {

Flights::Flights(Context& context, size_t count) : context_(context), groups_(count == 2 * kGroup) {
  const Device device = context.device();
  for (size_t i = 0; i < count; ++i) {
    flights_.push_back({.read = Event(device), .trained = Event(device), .ends_with = i});
  }
}

void Flights::take_off(StepPlan& plan) {
  Flight& flight = next();
  flight.ends_with = next_slot();
  flight.plan = &plan;
  flight.slot = &plan.slots[next_slot()];
  ++batches_;
}

bool Flights::launches() {
  try {
    return launches_last();
  } catch (...) {
    launched_ = batches_;  // a batch that failed does not wait
    throw;
  }
}

bool Flights::launches_last() {
  const bool fits = last().plan == of(launched_).plan && last().slot->parts[StepPlan::kAlone].recorded();
  if (groups_ && fits) {
    const bool ends_group = batches_ % kGroup == 0;
    const auto busy = [&] { return launched_ > 0 && !end_of(of(launched_ - 1)).finished(); };
    if (!ends_group && busy()) return true;
    if (ends_group && batches_ - launched_ == kGroup) {
      launch();
      return true;
    }
  }
  launch_before(batches_ - 1);
  launched_ = batches_;
  return false;
}

void Flights::launch_before(uint64_t end) {
  const size_t count = end - launched_ == kGroup ? kGroup : 1;
  while (launched_ < end) {
    const uint64_t first = launched_, newest = first + count - 1;
    launched_ = newest + 1;  // so they are not launched again, even if something fails
    for (uint64_t batch = first; batch <= newest; ++batch) of(batch).ends_with = newest % size();
    Flight& flight = of(newest);
    context_.wait_for(flight.read);  // the other batches were read before
    if (count == kGroup) {
      failure_ = flight.plan->launch_group(context_, first % size());
      groups_ = failure_.empty();
      if (groups_) ++launched_groups_;
    } else {
      flight.slot->parts[StepPlan::kAlone].launch(context_);
    }
    context_.record(flight.trained);
  }
}

void Flights::drain() noexcept {
  try {
    launch();
  } catch (...) {  // the device has failed
  }
}

}  // namespace millrace
