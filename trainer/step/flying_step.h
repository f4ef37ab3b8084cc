// FlyingStep: the step of a device that works on a batch while the host works on the next one. Batches are copied while
// others are trained on, the work is recorded once and then launched, and scores go to the host while gradients are
// made.
#pragma once

#include <optional>

#include "millrace/core/context.h"
#include "millrace/core/event.h"
#include "millrace/core/threads/executor.h"
#include "millrace/trainer/step/flights.h"
#include "millrace/trainer/step/step_runner.h"

namespace millrace {

struct FlyingStep final : StepRunner {
  explicit FlyingStep(const StepArgs& step_args);
  ~FlyingStep() override;

  StepOutcome run(const RowBlock& batch) override;
  StepOutcome flush() override;
  void start_window() override;
  void settle() override { flights.launch(); }
  void finish() override;

  std::optional<Context> copies;  // brings batches while others are trained on
  Context fetches;                // takes scores to the host while gradients are made
  Event scored, fetched;
  Flights flights;

 private:
  void bring(Flight& flight, StepPlan::Slot& to, const RowBlock& batch);
  StepOutcome train(Flight& flight, bool launched);
  void play(size_t part, FunctionRef<void()> work);
  void run_before();
  void join(Flight& flight);
};

}  // namespace millrace
