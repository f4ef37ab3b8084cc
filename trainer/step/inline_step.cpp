#include "millrace/trainer/step/inline_step.h"

namespace millrace {

StepOutcome InlineStep::run(const RowBlock& batch) {
  StepPlan& of_size = plan_for(batch.size());
  load(args.context, of_size.slots[0], batch);
  begin(of_size, of_size.slots[0]);

  forward();
  score();
  fetch(args.context);
  ++forward_passes;
  if (!loss_is_fine()) return skip_batch();
  if (windows()) scores.join(*plan->scores, slot->scores);

  backward();
  return end_batch();
}

}  // namespace millrace
