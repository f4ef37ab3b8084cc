#include "millrace/cli/verify/reference_run.h"

#include <algorithm>
#include <utility>

#include "millrace/core/random.h"

namespace millrace::cli {

void ReferenceRun::add(const TrainingEvent& event, double seconds) {
  if (event.name == "step") steps_.push_back({event.step, fnv1a64(event.said), seconds});
  if (event.name == "validation") validations_.emplace(event.step, event.said);
}

void ReferenceRun::end(DoneEvent done, double seconds) {
  done_ = std::move(done);
  seconds_ = seconds;
}

bool ReferenceRun::agrees(const TrainingEvent& event) const {
  if (event.name == "step") {
    const auto found = std::ranges::lower_bound(steps_, event.step, {}, &Step::step);
    return found != steps_.end() && found->step == event.step && found->said == fnv1a64(event.said);
  }
  if (event.name == "validation") {
    const auto [first, last] = validations_.equal_range(event.step);
    return std::any_of(first, last, [&](const auto& validation) { return validation.second == event.said; });
  }
  return true;
}

double ReferenceRun::seconds_to(int64_t step) const {
  const auto after = std::ranges::upper_bound(steps_, step, {}, &Step::step);
  return after == steps_.begin() ? 0 : std::prev(after)->seconds - starting_seconds();
}

}  // namespace millrace::cli
