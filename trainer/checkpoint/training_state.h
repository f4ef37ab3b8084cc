// TrainingState: everything that a training needs to go on from where another one was. It is put together from the
// training's parts; no other code knows which parts there are.
//
//   TrainingState state({.context = context, .step = *step, .loop = *loop, .delivery = *delivery});
//   const State numbers = state.numbers();                        // between two steps
//   for (const NamedTensor& tensor : state.tensors()) copy(tensor);
//
//   fresh.restore(numbers, [&](const std::string& name) { return copy_of(name); });
//
// Two things are left out: what follows from the configuration and the number of steps (schedules, random draws), and
// what belongs to one run only (times, rates, recordings). The thread that trains uses this object; the parts must
// outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
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
  Context& context;  // where the tensors lie
  TrainingPart& step;
  TrainingPart& loop;
  Delivery& delivery;                  // made with DeliveryArgs::saves
  TrainingPart* validation = nullptr;  // null: the training has none
};

class TrainingState {
 public:
  explicit TrainingState(const TrainingStateArgs& args) : args_(args) {}

  // The numbers after the last step. Waits for work that is under way. Throws what Delivery::save() throws.
  State numbers() const;
  // The tensors that belong to the numbers. They are views: the next step changes the values. On a device, the values
  // are complete only after the work that the context was given.
  std::vector<NamedTensor> tensors() const { return list(false); }
  // All tensors that there may be at any step. Those that are not there now have no values.
  std::vector<NamedTensor> all_tensors() const { return list(true); }
  // The bytes of all_tensors().
  size_t most_bytes() const;
  // The most bytes of numbers(), besides a few.
  uint64_t state_bound() const;

  // Gives the values of a saved tensor, contiguous and on the host; a null view if there is no tensor of this name.
  using Lookup = std::function<ConstTensorView(const std::string& name)>;
  // Goes on from a saved state. Throws DataError if a number, a part or a tensor is absent or has another type or
  // shape; the message names it. The training is then unchanged. Only if the input's state did not fit, the delivery
  // cannot be used until it is restored again. REQUIRES: nothing was trained yet.
  void restore(const State& numbers, const Lookup& find) const;

 private:
  template <class Body>
  void for_each_part(const Body& body) const;
  std::vector<NamedTensor> list(bool all) const;
  State numbers_of_parts() const;
  void restore_parts(const State& numbers) const;

  const TrainingStateArgs args_;
};

}  // namespace millrace
