#include "bench/gpu/device_step.h"

#include <array>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/threads/executor.h"
#include "millrace/input/graph/pipeline.h"
#include "millrace/trainer/config/catalog.h"
#include "millrace/trainer/input/build_input.h"
#include "millrace/trainer/step/scores.h"
#include "millrace/trainer/step/step_inputs.h"
#include "millrace/trainer/step/step_plan.h"

namespace millrace::bench {

namespace {

Device find_device(const Config& config) {
  std::vector<std::string> warnings;
  return device_of(config, warnings);
}

RowBlock first_batch(Pipeline& pipeline) {
  RowBlock batch = pipeline.make_slot();
  if (pipeline.next(batch) == 0) throw DataError("there is no batch to train on");
  return batch;
}

}  // namespace

struct DeviceStep::Impl {
  explicit Impl(const Spec& configuration);
  void give();
  StepPlan::Slot& slot() { return plan.slots.front(); }

  Config config;
  Executor executor;
  Context context;
  Pipeline pipeline;
  RowBlock batch;
  Model model;
  StepFields fields;
  Scores scores;
  StepPlan plan;
  std::array<const Replay*, StepPlan::kGroup> group;
  ReplayChain chain;
  bool recorded = false;
};

DeviceStep::Impl::Impl(const Spec& configuration)
    : config(read_config(configuration, Catalog::builtin())),
      executor(config.threads),
      context(find_device(config), executor, config.precision),
      pipeline(build_input(config, Catalog::builtin()), {.executor = &executor, .reader = context.device()}),
      batch(first_batch(pipeline)),
      model(Model::build({.layers = std::move(config.layers), .inputs = named_specs(batch.spec()), .seed = config.seed},
                         context)),
      fields({.model = model,
              .rows = batch.spec(),
              .loss = config.loss.loss.get(),
              .label = config.loss.label,
              .trains = true}),
      scores({.context = context,
              .loss = *config.loss.loss,
              .prediction = model.output(),
              .label = fields.label(),
              .direct = true}),
      plan({.model = model,
            .context = context,
            .optimizer = *config.optimizer,
            .fields = fields,
            .scores = scores,
            .gradient_target = GradientTarget::parameters},
           batch.size()) {
  if (!config.optimizer->adds_scaled_gradient()) throw ConfigError("only plain SGD updates in place");
  slot().numbers.bring(context, 0, 0);
  slot().inputs.load(context, batch);
  context.synchronize();
  group.fill(&slot().parts[StepPlan::kWhole]);
}

// The same as in TrainStep.
void DeviceStep::Impl::give() {
  plan.model->forward(context, slot().inputs.model(), slot().numbers.pass());
  scores.run(*plan.scores, plan.scored(slot()));
  plan.model->backward(context, slot().inputs.model(), slot().numbers.pass(), slot().numbers.scalars(), TensorView());
}

DeviceStep::DeviceStep(const Spec& configuration) : impl_(std::make_unique<Impl>(configuration)) {}
DeviceStep::~DeviceStep() { impl_->context.drain(); }

void DeviceStep::run() {
  Impl& impl = *impl_;
  impl.recorded = impl.plan.play(impl.context, impl.slot(), StepPlan::kWhole, [&impl] { impl.give(); }).recorded();
}

int DeviceStep::run_several(int most) {
  Impl& impl = *impl_;
  if (most < std::ssize(impl.group) || !impl.group.front()->recorded()) {
    run();
    return 1;
  }
  impl.chain.launch(impl.context, impl.group);
  if (!impl.chain.failure().empty()) throw DeviceError(impl.chain.failure());
  return static_cast<int>(impl.group.size());
}

double DeviceStep::loss() {
  impl_->context.synchronize();
  return impl_->scores.loss_of(impl_->slot().scores).mean;
}

bool DeviceStep::recorded() const { return impl_->recorded; }
Context& DeviceStep::context() { return impl_->context; }
const Config& DeviceStep::config() const { return impl_->config; }
const Model& DeviceStep::model() const { return impl_->model; }
const RowBlock& DeviceStep::batch() const { return impl_->batch; }

}  // namespace millrace::bench
