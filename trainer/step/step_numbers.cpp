#include "millrace/trainer/step/step_numbers.h"

#include <span>

namespace millrace {

namespace {

size_t bytes_of(const Optimizer& optimizer) {
  return sizeof(uint64_t) + sizeof(float) * static_cast<size_t>(optimizer.scalar_count());
}

}  // namespace

StepNumbers::StepNumbers(Device device, const Optimizer& optimizer)
    : optimizer_(optimizer), here_(Memory::pinned(device, bytes_of(optimizer))), there_(device, bytes_of(optimizer)) {}

void StepNumbers::write(uint64_t passes, uint64_t updates) {
  auto* const pass = static_cast<uint64_t*>(here_.data());
  *pass = passes;
  optimizer_.scalars(updates, {reinterpret_cast<float*>(pass + 1), static_cast<size_t>(optimizer_.scalar_count())});
}

void StepNumbers::bring(Context& context) { context.copy_async(there_.data(), here_.data(), here_.bytes()); }

}  // namespace millrace
