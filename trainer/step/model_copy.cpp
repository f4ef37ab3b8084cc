#include "millrace/trainer/step/model_copy.h"

namespace millrace {

ModelCopy::ModelCopy(Model& model, Context& context, Of of) : context_(context) {
  const auto add = [&](const TensorView& values) {
    parts_.push_back({values, Memory(context.device(), values.bytes())});
  };
  if (of == Of::all) add(model.parameter_block());
  for (size_t i = 0; i < model.states().size(); ++i) add(model.state(i));
}

void ModelCopy::take() {
  for (const Part& part : parts_) context_.copy(part.copy.data(), part.values.data(), part.copy.bytes());
  context_.synchronize();
}

void ModelCopy::give_back() {
  for (const Part& part : parts_) context_.copy(part.values.data(), part.copy.data(), part.copy.bytes());
  context_.synchronize();
}

size_t ModelCopy::bytes() const {
  size_t total = 0;
  for (const Part& part : parts_) total += part.copy.bytes();
  return total;
}

}  // namespace millrace
