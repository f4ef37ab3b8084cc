#include "millrace/trainer/step/step.h"

#include "millrace/trainer/step/flying_step.h"
#include "millrace/trainer/step/inline_step.h"

namespace millrace {

namespace {

std::unique_ptr<StepRunner> make_runner(const StepArgs& args) {
  if (args.context.device().is_cpu()) return std::make_unique<InlineStep>(args);
  return std::make_unique<FlyingStep>(args);
}

}  // namespace

TrainStep::TrainStep(const StepArgs& args) : runner_(make_runner(args)) {}
TrainStep::~TrainStep() = default;

void TrainStep::prepare(int64_t rows) { runner_->plan_for(rows); }
StepOutcome TrainStep::run(const RowBlock& batch) { return runner_->run(batch); }
StepOutcome TrainStep::flush() { return runner_->flush(); }

Model& TrainStep::model() {
  runner_->settle();
  return runner_->args.model;
}

const std::vector<TensorView>& TrainStep::slots() {
  runner_->settle();
  return runner_->parameter_update.slots();
}

double TrainStep::loss() {
  if (!runner_->windows()) return batch_loss();
  runner_->finish();
  return runner_->scores.loss();
}

double TrainStep::batch_loss() {
  runner_->finish();
  return runner_->scores.loss_of(runner_->slot->scores);
}

const std::vector<double>& TrainStep::metrics() { return runner_->metrics(); }
void TrainStep::start_window() { runner_->start_window(); }

uint64_t TrainStep::steps() const { return runner_->forward_passes; }
uint64_t TrainStep::updates() const { return runner_->updates; }
uint64_t TrainStep::skipped() const { return runner_->skipped; }

void TrainStep::resume(uint64_t steps, uint64_t updates) {
  runner_->forward_passes = steps;
  runner_->updates = updates;
}

bool TrainStep::recorded() const { return runner_->recorded; }
uint64_t TrainStep::groups() const { return runner_->groups; }
const std::string& TrainStep::not_recorded() const { return runner_->not_recorded; }
int64_t TrainStep::error_row() const { return runner_->error_row; }

size_t TrainStep::bytes() const { return runner_->bytes_beside_plans() + runner_->plans.bytes(); }

size_t TrainStep::memory_bound(int64_t rows) {
  const size_t plan = runner_->plan_for(rows).bytes;
  return runner_->bytes_beside_plans() + kBatchSizes * plan;
}

}  // namespace millrace
