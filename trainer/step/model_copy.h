// ModelCopy: a model as it was at one time, on its device, to go back to.
//
//   ModelCopy best(model, context);
//   best.take();  // later: best.give_back();
//
// Each call waits for the device. Not synchronised; model and context must outlive a copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "millrace/core/context.h"
#include "millrace/layers/model/model.h"
#include "millrace/trainer/step/training_part.h"

namespace millrace {

class ModelCopy {
 public:
  enum class Of : uint8_t {
    all,     // parameters, and the states of the layers
    states,  // only the states of the layers
  };

  ModelCopy(Model& model, Context& context, Of of = Of::all);
  void take();
  // REQUIRES: take() was called.
  void give_back();
  // Adds the tensors of the copy under the names that they have in the model, behind `prefix`.
  void list(std::string_view prefix, std::vector<NamedTensor>& out) const;
  size_t bytes() const;

 private:
  struct Part {
    TensorView values;
    Memory copy;
  };

  const Model& model_;
  Context& context_;
  const Of of_;
  std::vector<Part> parts_;
};

}  // namespace millrace
