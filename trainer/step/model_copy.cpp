#include "millrace/trainer/step/model_copy.h"

namespace millrace {

StateCopy::StateCopy(Model& model, Context& context) : model_(model), context_(context) {
  for (size_t i = 0; i < model.states().size(); ++i) states_.emplace_back(context.device(), model.state(i).bytes());
}

void StateCopy::take() {
  for (size_t i = 0; i < states_.size(); ++i) {
    context_.copy(states_[i].data(), model_.state(i).data(), states_[i].bytes());
  }
  context_.synchronize();
}

void StateCopy::give_back() {
  for (size_t i = 0; i < states_.size(); ++i) {
    context_.copy(model_.state(i).data(), states_[i].data(), states_[i].bytes());
  }
  context_.synchronize();
}

size_t StateCopy::bytes() const {
  size_t total = 0;
  for (const Memory& state : states_) total += state.bytes();
  return total;
}

ModelCopy::ModelCopy(Model& model, Context& context)
    : model_(model),
      context_(context),
      parameters_(context.device(), model.parameter_block().bytes()),
      states_(model, context) {}

void ModelCopy::take() {
  context_.copy(parameters_.data(), model_.parameter_block().data(), parameters_.bytes());
  states_.take();
}

void ModelCopy::give_back() {
  context_.copy(model_.parameter_block().data(), parameters_.data(), parameters_.bytes());
  states_.give_back();
}

}  // namespace millrace
