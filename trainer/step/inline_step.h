// InlineStep: the step in which each call does its work before it returns, as on the CPU.
#pragma once

#include "millrace/trainer/step/step_runner.h"

namespace millrace {

struct InlineStep final : StepRunner {
  explicit InlineStep(const StepArgs& step_args) : StepRunner(step_args, 1) {}
  StepOutcome run(const RowBlock& batch) override;
};

}  // namespace millrace
