#include "millrace/cli/verify/kill_plan.h"

#include <algorithm>
#include <utility>

namespace millrace::cli {

namespace {

// A number below kStarting means a kill at the start, one below kTraining a kill in the training, any other a kill at a
// call.
constexpr double kStarting = 0.05, kTraining = 0.5;
constexpr double kMissedStart = 0.7;
// This call comes only once, in the process that begins the training.
constexpr const char* kMakeFolder = "make_folder";

}  // namespace

KillPlan::KillPlan(const TrainingTimes& times, Draws& draws)
    : times_(times),
      draws_(draws),
      // Calls of FileCalls, and how many of them a kill may wait for. A file has a `write` for each tensor, and each
      // checkpoint has a few of the others, so these numbers reach into the second or third checkpoint. Some calls
      // never come: a file gets its name by link or by rename, which depends on the file system.
      calls_{{kMakeFolder, 2}, {"sync", 6},   {"link", 3},   {"write", 40},       {"close", 4},
             {"open", 4},      {"unlink", 3}, {"rename", 2}, {"open_nameless", 4}},
      next_call_(draws.below(calls_.size())) {}

PlannedKill KillPlan::next(double left, int64_t kills, bool from_the_beginning) {
  double drawn = draws_.unit();
  // The last kill came too late, so the training may be too short for kills by the clock: kill at a call, or at the
  // start.
  if (std::exchange(missed_, false) && drawn >= kStarting) drawn = calls_.empty() ? 0 : 1;
  if (calls_.empty() && drawn >= kTraining) drawn = 2 * kStarting;
  if (drawn < kStarting) return {.when = PlannedKill::When::starting, .seconds = draws_.unit() * times_.starting};
  if (drawn >= kTraining) return at_call(from_the_beginning);
  // On average, the kills are spread over the rest of the training. But they must reach beyond the next checkpoint, or
  // the training would never advance.
  const double average = std::max(left / static_cast<double>(kills + 1), times_.checkpoint);
  return {.when = PlannedKill::When::training, .seconds = 2 * draws_.unit() * average};
}

PlannedKill KillPlan::at_call(bool from_the_beginning) {
  const Call* call = &calls_[next_call_++ % calls_.size()];
  if (call->name == kMakeFolder && !from_the_beginning) call = &calls_[next_call_++ % calls_.size()];
  return {.when = PlannedKill::When::calling, .call = call->name, .time = 1 + draws_.below(call->most)};
}

void KillPlan::missed(const PlannedKill& kill) {
  missed_ = kill.when != PlannedKill::When::never;
  if (kill.when == PlannedKill::When::starting) times_.starting *= kMissedStart;
  if (kill.when != PlannedKill::When::calling) return;
  const auto call = std::ranges::find(calls_, kill.call, &Call::name);
  if (call == calls_.end()) return;
  call->most = std::min(call->most / 2, kill.time - 1);
  if (call->most == 0) calls_.erase(call);
}

}  // namespace millrace::cli
