// WeightLayout: copies a weight between the model's layout and one of oneDNN's layouts.
//
// Used by one thread at a time.
#pragma once

#include <cstddef>
#include <dnnl.hpp>
#include <optional>

#include "millrace/core/context.h"
#include "millrace/core/kernels/slot_primitive.h"

namespace millrace::cpu {

class WeightLayout {
 public:
  enum class Way : uint8_t { inwards, outwards };

  WeightLayout(const dnnl::engine& engine, const dnnl::memory::desc& plain, const dnnl::memory::desc& inner, Way way);

  // The weight in the layout that the library reads or writes.
  void* inner() const { return inner_.data(); }
  // Inwards: copies `plain` to inner(). Outwards: copies inner() to `plain`, which is then written although its type is
  // const.
  void change(const void* plain) { primitive_->run(0, {&plain, 1}); }
  size_t bytes() const { return inner_.bytes() + scratch_.bytes(); }

 private:
  Memory inner_, scratch_;
  std::optional<SlotPrimitive> primitive_;
};

}  // namespace millrace::cpu
