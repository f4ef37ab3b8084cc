// KillPlan: decides at random when to kill a running training next. About half of the kills are spread over the whole
// training, with a few while it starts. The others come at the calls of the system that write checkpoints, each call in
// turn.
//
// Used by one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "millrace/cli/verify/draws.h"

namespace millrace::cli {

struct PlannedKill {
  enum class When {
    never,
    starting,  // `seconds` after the process began
    training,  // `seconds` after the step where it goes on, by the times of the uninterrupted training
    calling,   // before the `time`th `call` of the system
  };
  When when = When::never;
  double seconds = 0;
  std::string call = {};
  uint64_t time = 0;
};

// Durations of the uninterrupted training, in seconds.
struct TrainingTimes {
  double starting = 0;    // from the begin of the process to the first step
  double training = 0;    // from the first step to the end
  double checkpoint = 0;  // from one checkpoint to the next
};

class KillPlan {
 public:
  KillPlan(const TrainingTimes& times, Draws& draws);

  // `left`: the seconds of training that are still to be done. `kills`: how many kills are still wanted.
  // `from_the_beginning`: the process does not resume. REQUIRES: kills > 0.
  PlannedKill next(double left, int64_t kills, bool from_the_beginning);
  // Tells the plan that the training ended before this kill came.
  void missed(const PlannedKill& kill);

 private:
  struct Call {
    std::string name;
    uint64_t most;  // how many of them a kill may wait for
  };
  PlannedKill at_call(bool from_the_beginning);

  TrainingTimes times_;
  Draws& draws_;
  std::vector<Call> calls_;
  size_t next_call_;
  bool missed_ = false;  // the last kill came too late
};

}  // namespace millrace::cli
