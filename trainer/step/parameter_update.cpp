#include "millrace/trainer/step/parameter_update.h"

#include <utility>

namespace millrace {

namespace {

TensorView part_of(const Memory& block, size_t offset, const TensorView& like) {
  return TensorView(static_cast<std::byte*>(block.data()) + offset, like.dtype(), like.shape());
}

}  // namespace

ParameterUpdate::ParameterUpdate(Model& model, Context& context, const Optimizer& optimizer)
    : context_(context), optimizer_(optimizer) {
  const TensorView block = model.parameter_block();
  const int slots = attributed(optimizer, &Optimizer::state_slots);
  for (int i = 0; i < slots; ++i) {
    slot_memory_.emplace_back(context.device(), block.spec().bytes());
    slots_.push_back(part_of(slot_memory_.back(), 0, block));
  }
  const std::vector<Parameter>& parameters = model.parameters();
  const auto decays = [&](const Parameter& parameter) {
    return attributed(optimizer, [&] { return optimizer.decays(parameter.name); });
  };
  for (size_t first = 0, next = 0; first < parameters.size(); first = next) {
    Run run;
    run.offset = parameters[first].offset;
    run.decay = decays(parameters[first]);
    do ++next;
    while (next < parameters.size() && decays(parameters[next]) == run.decay);
    const size_t end = next < parameters.size() ? parameters[next].offset : block.spec().bytes();
    const auto count = static_cast<int64_t>((end - run.offset) / size_of(block.dtype()));
    run.parameters = TensorView(static_cast<std::byte*>(block.data()) + run.offset, block.dtype(), Shape{count});
    for (const Memory& slot : slot_memory_) run.slots.push_back(part_of(slot, run.offset, run.parameters));
    runs_.push_back(std::move(run));
  }
}

void ParameterUpdate::apply(const Memory& gradients, const float* scalars, const float* scale) const {
  for (const Run& run : runs_) {
    attributed(optimizer_, [&] {
      optimizer_.update(context_, {.parameters = run.parameters,
                                   .gradients = part_of(gradients, run.offset, run.parameters),
                                   .slots = run.slots,
                                   .scalars = scalars,
                                   .gradient_scale = scale,
                                   .decay = run.decay});
    });
  }
}

}  // namespace millrace
