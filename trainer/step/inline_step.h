// InlineStep: the step in which each call does its work before it returns, as on the CPU.
#pragma once

#include "millrace/trainer/step/step_runner.h"

namespace millrace {

struct InlineStep final : StepRunner {
  explicit InlineStep(const StepArgs& step_args)
      : StepRunner(step_args, 1), own_numbers(args.context.device(), args.optimizer) {}

  StepOutcome run(const RowBlock& batch) override;
  size_t bytes_beside_plans() const override { return StepRunner::bytes_beside_plans() + own_numbers.bytes(); }

  StepNumbers own_numbers;
};

}  // namespace millrace
