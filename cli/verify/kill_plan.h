// KillPlan: when a training that runs is to be killed next. Moments are drawn so that kills are spread over the whole
// training, with some while it starts, and as many at the calls by which checkpoints are written, each call in turn.
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
    training,  // when the training is `seconds` further than where it goes on, as the uninterrupted one was timed
    calling,   // before the `time`th `call` of the system
  };
  When when = When::never;
  double seconds = 0;
  std::string call = {};
  uint64_t time = 0;
};

// Seconds of the training that nothing interrupted.
struct TrainingTimes {
  double starting = 0;    // from the process's begin to the first step
  double training = 0;    // from the first step to the end
  double checkpoint = 0;  // from one checkpoint to the next
};

class KillPlan {
 public:
  KillPlan(const TrainingTimes& times, Draws& draws);

  // `left`: how much of the training is still to be done, in seconds; `kills`: how many are still wanted. REQUIRES:
  // kills > 0.
  PlannedKill next(double left, int64_t kills, bool from_the_beginning);
  // The training ended before the kill came.
  void missed(const PlannedKill& kill);

 private:
  struct Call {
    std::string name;
    uint64_t most;  // the last one that is worth waiting for
  };
  PlannedKill at_call(bool from_the_beginning);

  TrainingTimes times_;
  Draws& draws_;
  std::vector<Call> calls_;
  size_t next_call_;
  bool missed_ = false;  // the last one
};

}  // namespace millrace::cli
