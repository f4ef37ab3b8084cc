// TrainingPart: a part of a training that another training can go on from: the step, the validation, the loop. It
// consists of numbers, which are saved in a State, and of tensors, which it lists where they lie.
//
//   part.save(state.scope("step"));
//   part.list(tensors, false);        // copy them before the next step
//
//   fresh.restore(state.scope("step"));
//   fresh.list(again, false);         // the same names: copy the values there
//
// The thread that trains uses it, between two steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/state.h"
#include "millrace/core/tensor.h"
#include "millrace/core/text.h"
#include "millrace/layers/model/model.h"

namespace millrace {

struct NamedTensor {
  std::string name;   // as in a model file: "dense.weight", "optimizer/0/dense.weight"
  TensorView values;  // contiguous, on the training's device
};

class TrainingPart {
 public:
  // Saves everything that counts, except tensors. Waits for work that is under way.
  virtual void save(State& state) = 0;
  // Goes on from what save() saved. REQUIRES: nothing was trained yet. Throws DataError if the state does not fit; the
  // part is then of no use until it is restored again.
  virtual void restore(const State& state) = 0;
  // Adds the tensors that save() left out; which they are depends on where the training is. On a device they have their
  // values once the context has done what it was given. With `all`, adds also tensors that are not there now, but may
  // be at another step: they have no values.
  virtual void list(std::vector<NamedTensor>& out, bool all) = 0;
  // The most bytes of what save() saves besides a few numbers.
  virtual uint64_t state_bound() const { return 0; }

 protected:
  ~TrainingPart() = default;
};

// Adds the parts of `block`, which is laid out like the model's parameter block, under the parameters' names.
inline void list_parameters(std::string_view prefix, const Model& model, const TensorView& block,
                            std::vector<NamedTensor>& out) {
  for (const Parameter& one : model.parameters()) {
    auto* const values = static_cast<std::byte*>(block.data()) + one.offset;
    out.push_back({cat(prefix, one.name), TensorView(values, block.dtype(), one.shape)});
  }
}

}  // namespace millrace
