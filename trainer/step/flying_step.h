// FlyingStep: the step on a device, which works on one batch while the host works on the next one. Batches are copied
// while others are trained on, the work is recorded once and then launched, and scores go to the host while gradients
// are made.
#pragma once

#include <optional>

#include "millrace/core/context.h"
#include "millrace/core/event.h"
#include "millrace/trainer/step/flights.h"
#include "millrace/trainer/step/step.h"

namespace millrace {

class FlyingStep final : public TrainStep {
 public:
  explicit FlyingStep(const StepArgs& args);
  ~FlyingStep() override;

  StepOutcome run(const RowBlock& batch) override;
  StepOutcome flush() override;
  void start_window() override;

 private:
  void settle() override { flights_.launch(); }
  void finish() override;
  void bring(Flight& flight, StepPlan::Slot& to, const RowBlock& batch);
  StepOutcome train(Flight& flight, bool launched);
  void play(size_t part, FunctionRef<void()> work);
  // Whether a copy brings scores to the host. A graph with a branch for it takes longer to launch.
  bool fetches() const;
  void run_before();
  void join_fetches();
  void join(Flight& flight);

  std::optional<Context> copies_;  // brings batches while others are trained on
  Context fetches_;                // takes scores to the host while gradients are made
  Event scored_, fetched_;
  Flights flights_;
};

}  // namespace millrace
