// StateCopy and ModelCopy: a model as it was at one time, on its device, to go back to.
//
//   ModelCopy best(model, context);
//   best.take();  // later: best.give_back();
//
// Each call waits for the device. Not synchronised; model and context must outlive a copy.
#pragma once

#include <cstddef>
#include <vector>

#include "millrace/core/context.h"
#include "millrace/layers/model/model.h"

namespace millrace {

// Only the states of the layers.
class StateCopy {
 public:
  StateCopy(Model& model, Context& context);
  void take();
  // REQUIRES: take() was called.
  void give_back();
  size_t bytes() const;

 private:
  Model& model_;
  Context& context_;
  std::vector<Memory> states_;
};

// Parameters and states.
class ModelCopy {
 public:
  ModelCopy(Model& model, Context& context);
  void take();
  // REQUIRES: take() was called.
  void give_back();
  size_t bytes() const { return parameters_.bytes() + states_.bytes(); }

 private:
  Model& model_;
  Context& context_;
  Memory parameters_;
  StateCopy states_;
};

}  // namespace millrace
