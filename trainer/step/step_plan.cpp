#include "millrace/trainer/step/step_plan.h"

namespace millrace {

namespace {

size_t bytes_of(const Optimizer& optimizer) {
  return sizeof(uint64_t) + sizeof(float) * static_cast<size_t>(attributed(optimizer, &Optimizer::scalar_count));
}

}  // namespace

StepNumbers::StepNumbers(Device device, const Optimizer& optimizer)
    : optimizer_(optimizer), here_(Memory::pinned(device, bytes_of(optimizer))), there_(device, bytes_of(optimizer)) {}

void StepNumbers::bring(Context& context, uint64_t passes, uint64_t updates) {
  auto* const pass = static_cast<uint64_t*>(here_.data());
  *pass = passes;
  const std::span<float> scalars(reinterpret_cast<float*>(pass + 1),
                                 (here_.bytes() - sizeof(uint64_t)) / sizeof(float));
  attributed(optimizer_, [&] { optimizer_.scalars(updates, scalars); });
  context.copy_async(there_.data(), here_.data(), here_.bytes());
}

StepPlan::StepPlan(const StepPlanArgs& args, int64_t batch_rows) : rows(batch_rows), groups(args.slots / kGroup) {
  const Device device = args.context.device();
  for (size_t i = 0; i < args.slots; ++i) {
    slots.push_back({.inputs = StepInputs(args.fields, device, rows), .numbers = StepNumbers(device, args.optimizer)});
  }
  const StepInputs& inputs = slots.front().inputs;
  model = std::make_unique<ModelPlan>(
      args.model, args.context,
      ModelPlanArgs{.inputs = inputs.model_shapes(), .mode = Mode::train, .gradient_target = args.gradient_target});
  scores = args.scores.plan(model->output(), inputs.label_shape(), model.get());
  bytes = model->bytes() + scores->bytes();
  for (Slot& slot : slots) {
    slot.scores = args.scores.make_copy(*scores);
    bytes += slot.inputs.bytes() + slot.numbers.bytes() + slot.scores.bytes();
  }
}

const Replay& StepPlan::play(Context& context, Slot& slot, size_t part, FunctionRef<void()> work) {
  Replay& replay = slot.parts[part];
  replay.run(context, work, warm[part]);
  warm[part] = true;
  return replay;
}

const std::string& StepPlan::launch_group(Context& context, size_t first) {
  std::array<const Replay*, kGroup> replays = {};
  for (size_t i = 0; i < kGroup; ++i) replays[i] = &slots[first + i].parts[kAlone];
  ReplayChain& group = groups[first / kGroup];
  group.launch(context, replays);
  return group.failure();
}

ScoredBatch StepPlan::scored(const Slot& slot) const {
  return {.prediction = model->output(),
          .label = slot.inputs.label(),
          .weight = slot.inputs.weight(),
          .gradient = model->output_gradient(),
          .loss = slot.scores.data()};
}

}  // namespace millrace
