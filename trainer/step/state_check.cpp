#include "millrace/trainer/step/state_check.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "millrace/core/kernels/reduce.h"
#include "millrace/core/tensor.h"

namespace millrace {

namespace {

bool is_finite(const ConstTensorView& values) {
  bool finite = false;
  dispatch_float(values.dtype(), [&]<class T>() {
    const T* const first = values.as<T>();
    finite = std::all_of(first, first + values.elements(), [](T value) { return std::isfinite(value); });
  });
  return finite;
}

}  // namespace

StateCheck::StateCheck(const Model& model, Device device, std::span<const TensorView> slots)
    : model_(model), slots_(slots) {
  int64_t most = slots.empty() ? 0 : slots.front().elements();
  if (!model.states().empty()) {
    most = std::max(most, model.state_block().elements());
    host_sum_ = Memory::pinned(device, sizeof(double));
  }
  if (most == 0) return;
  sum_ = Memory(device, sizeof(double));
  scratch_ = Memory(device, sum_scratch(most));
}

void StateCheck::look(Context& context) const {
  if (host_sum_) square_sum(context, model_.state_block(), static_cast<double*>(sum_.data()), scratch_.data());
}

void StateCheck::fetch(Context& context) const {
  if (host_sum_) context.copy_async(host_sum_.data(), sum_.data(), sizeof(double));
}

bool StateCheck::finite() const { return !host_sum_ || std::isfinite(*static_cast<const double*>(host_sum_.data())); }

std::string StateCheck::first(Context& context) const {
  for (size_t i = 0; i < model_.states().size(); ++i) {
    const ConstTensorView state = model_.state(i);
    Tensor host(Device::cpu(), state.spec());
    context.copy(host.view().data(), state.data(), host.spec().bytes());
    context.synchronize();
    if (!is_finite(host.view())) return model_.states()[i].name;
  }
  return {};
}

bool StateCheck::slots_finite(Context& context) const {
  return !sum_ || std::all_of(slots_.begin(), slots_.end(), [&](const TensorView& slot) {
    double sum = 0;
    square_sum(context, slot, static_cast<double*>(sum_.data()), scratch_.data());
    context.copy(&sum, sum_.data(), sizeof sum);
    context.synchronize();
    return std::isfinite(sum);
  });
}

}  // namespace millrace
