#include "millrace/trainer/checkpoint/training_state.h"

#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace {

namespace {

constexpr const char* kInput = "input";

// The saved values for `tensor`. Throws DataError if there are none, or if they have another type or shape.
ConstTensorView values_for(const NamedTensor& tensor, const TrainingState::Lookup& find) {
  const ConstTensorView values = find(tensor.name);
  if (!values) {
    throw DataError(cat("the saved state has no tensor ", quote(tensor.name)), {},
                    "it was saved by another version or another configuration");
  }
  if (values.spec() == tensor.values.spec()) return values;
  throw DataError(cat("the saved tensor ", quote(tensor.name), " is ", values.spec().text(), ", the training's is ",
                      tensor.values.spec().text()));
}

}  // namespace

// Calls body(name, part) for each part. Saved states hold the names, so a name must never change.
template <class Body>
void TrainingState::for_each_part(const Body& body) const {
  body("step", args_.step);
  if (args_.validation != nullptr) body("validation", *args_.validation);
  body("loop", args_.loop);
}

State TrainingState::numbers() const {
  State out = numbers_of_parts();
  out.scope(kInput) = args_.delivery.save();
  return out;
}

State TrainingState::numbers_of_parts() const {
  State out;
  for_each_part([&](const char* name, TrainingPart& part) { part.save(out.scope(name)); });
  return out;
}

std::vector<NamedTensor> TrainingState::list(bool all) const {
  std::vector<NamedTensor> out;
  for_each_part([&](const char*, TrainingPart& part) { part.list(out, all); });
  return out;
}

size_t TrainingState::most_bytes() const {
  size_t total = 0;
  for (const NamedTensor& tensor : all_tensors()) total += tensor.values.bytes();
  return total;
}

uint64_t TrainingState::state_bound() const {
  uint64_t total = args_.delivery.graph().state_bound();
  for_each_part([&](const char*, const TrainingPart& part) { total += part.state_bound(); });
  return total;
}

void TrainingState::restore(const State& numbers, const Lookup& find) const {
  const State before = numbers_of_parts();
  std::vector<std::pair<TensorView, ConstTensorView>> copies;
  try {
    restore_parts(numbers);
    for (const NamedTensor& tensor : tensors()) copies.emplace_back(tensor.values, values_for(tensor, find));
    args_.delivery.restore(numbers.scope(kInput));
  } catch (...) {
    restore_parts(before);
    throw;
  }
  for (const auto& [to, from] : copies) args_.context.copy(to.data(), from.data(), from.spec().bytes());
  args_.context.synchronize();
}

void TrainingState::restore_parts(const State& numbers) const {
  for_each_part([&](const char* name, TrainingPart& part) { part.restore(numbers.scope(name)); });
}

}  // namespace millrace
