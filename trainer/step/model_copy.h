// ModelCopy: a model as it was at one time, on its device, to go back to.
//
//   ModelCopy best(model, context);
//   best.take();  // later: best.give_back();
//
// Each call waits for the device. Not synchronised; model and context must outlive a copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "millrace/core/context.h"
#include "millrace/layers/model/model.h"

namespace millrace {

class ModelCopy {
 public:
  enum class Of : uint8_t {
    all,     // parameters, and the states of the layers
    states,  // only these
  };

  ModelCopy(Model& model, Context& context, Of of = Of::all);
  void take();
  // REQUIRES: take() was called.
  void give_back();
  size_t bytes() const;

 private:
  struct Part {
    TensorView values;
    Memory copy;
  };

  Context& context_;
  std::vector<Part> parts_;
};

}  // namespace millrace
