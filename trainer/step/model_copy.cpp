#include "millrace/trainer/step/model_copy.h"

namespace millrace {

ModelCopy::ModelCopy(Model& model, Context& context, Of of) : model_(model), context_(context), of_(of) {
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

void ModelCopy::list(std::string_view prefix, std::vector<NamedTensor>& out) const {
  size_t part = 0;
  if (of_ == Of::all) {
    const Part& block = parts_[part++];
    list_parameters(prefix, model_, block.values.at(block.copy.data()), out);
  }
  for (const Parameter& state : model_.states()) {
    const Part& one = parts_[part++];
    out.push_back({cat(prefix, state.name), one.values.at(one.copy.data())});
  }
}

size_t ModelCopy::bytes() const {
  size_t total = 0;
  for (const Part& part : parts_) total += part.copy.bytes();
  return total;
}

}  // namespace millrace
