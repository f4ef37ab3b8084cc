// ReferenceRun: what a training that nothing interrupts said, step by step, and when. A resumed training has to say the
// same at the same steps. A value.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "millrace/cli/verify/training_events.h"

namespace millrace::cli {

class ReferenceRun {
 public:
  // Events in order; `seconds` since the process began. Only steps and validations are kept.
  void add(const TrainingEvent& event, double seconds);
  void end(DoneEvent done, double seconds);

  // Whether it said the same at this step; true for events that are not compared.
  bool agrees(const TrainingEvent& event) const;
  // Whether it was judged after the step.
  bool validated(int64_t step) const { return validations_.contains(step); }

  const DoneEvent& done() const { return done_; }
  double starting_seconds() const { return steps_.empty() ? seconds_ : steps_.front().seconds; }
  double training_seconds() const { return seconds_ - starting_seconds(); }
  // From the first step to this one; 0 before it.
  double seconds_to(int64_t step) const;

 private:
  struct Step {
    int64_t step;
    uint64_t said;  // a hash, as there may be many
    double seconds;
  };
  std::vector<Step> steps_;
  // There may be two after the last step: of the model before and after an update by the batches that were left over.
  std::multimap<int64_t, std::string> validations_;
  DoneEvent done_;
  double seconds_ = 0;
};

}  // namespace millrace::cli
