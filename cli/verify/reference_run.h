// ReferenceRun: the reports of an uninterrupted training, step by step, and their times. A resumed training has to
// report the same at the same steps. A value.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "millrace/cli/verify/training_events.h"

namespace millrace::cli {

class ReferenceRun {
 public:
  // Takes the events in order; `seconds` counts from the begin of the process. Only steps and validations are kept.
  void add(const TrainingEvent& event, double seconds);
  void end(DoneEvent done, double seconds);

  // Whether the uninterrupted training reported the same at this step; true for events that are not compared.
  bool agrees(const TrainingEvent& event) const;
  // Whether a validation followed this step.
  bool validated(int64_t step) const { return validations_.contains(step); }

  const DoneEvent& done() const { return done_; }
  double starting_seconds() const { return steps_.empty() ? seconds_ : steps_.front().seconds; }
  double training_seconds() const { return seconds_ - starting_seconds(); }
  // The seconds from the first step to this one; 0 before the first step.
  double seconds_to(int64_t step) const;

 private:
  struct Step {
    int64_t step;
    uint64_t said;  // a hash of the text, since there may be many steps
    double seconds;
  };
  std::vector<Step> steps_;
  // The last step may have two validations: one before and one after an update by the batches that were left over.
  std::multimap<int64_t, std::string> validations_;
  DoneEvent done_;
  double seconds_ = 0;
};

}  // namespace millrace::cli
