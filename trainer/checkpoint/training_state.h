// TrainingState: everything that a training must know to go on from where another one was, put together from its parts.
// No other code knows which parts there are.
//
//   TrainingState state({.context = context, .step = *step, .loop = *loop, .delivery = *delivery});
//   const State numbers = state.numbers();                        // between two steps
//   for (const NamedTensor& tensor : state.tensors()) copy(tensor);
//
//   fresh.restore(numbers, [&](const std::string& name) { return copy_of(name); });
//
// Not part of it: what is a function of the configuration (schedules, random draws, which count steps), and what
// belongs to this run (times, rates, recordings). The thread that trains uses it; the parts must outlive it.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "millrace/core/context.h"
#include "millrace/core/state.h"
#include "millrace/core/tensor.h"
#include "millrace/trainer/delivery/delivery.h"
#include "millrace/trainer/step/training_part.h"

namespace millrace {

struct TrainingStateArgs {
  Context& context;  // of the tensors
  TrainingPart& step;
  TrainingPart& loop;
  Delivery& delivery;                  // made with DeliveryArgs::saves
  TrainingPart* validation = nullptr;  // null: the training has none
};

class TrainingState {
 public:
  explicit TrainingState(const TrainingStateArgs& args) : args_(args) {}

  // The numbers, after the last step. Waits for what is under way. Throws what Delivery::save() throws.
  State numbers() const;
  // The tensors that belong to them, where they lie: what the next step changes. On a device they have their values
  // once the context has done what it was given.
  std::vector<NamedTensor> tensors() const;
  // The most bytes that tensors() ever has.
  size_t most_bytes() const;

  // Gives the values of a tensor that was saved, contiguous and on the host; a null view if there is no such tensor.
  using Lookup = std::function<ConstTensorView(const std::string& name)>;
  // Goes on from a state that was saved. Throws DataError that names what does not fit: a number, a part or a tensor
  // that is absent or has another type or shape. The training then is as it was, unless the input did not fit: its
  // delivery is then of no use until it is restored again. REQUIRES: nothing was trained yet.
  void restore(const State& numbers, const Lookup& find) const;

 private:
  template <class Body>
  void for_each_part(const Body& body) const;
  State numbers_of_parts() const;
  void restore_parts(const State& numbers) const;

  const TrainingStateArgs args_;
};

}  // namespace millrace
