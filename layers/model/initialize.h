// The first values of parameters and state, a pure function of the seed and the parameter's name.
//
// glorot_uniform, for element i in row-major order, in double arithmetic, rounded to the parameter's dtype at the end:
//   bits  = philox64(seed, fnv1a64(name), i)            one 64-bit draw a value (random.h)
//   unit  = ((bits >> 12) + 0.5) / 2^52                 to_unit(bits)
//   value = (2 * unit - 1) * sqrt(6 / (fan_in + fan_out))
// Only products, sums and one square root: other programs compute the same bits (tests/golden/make_golden.py does).
#pragma once

#include <cstdint>
#include <string_view>

#include "millrace/core/context.h"
#include "millrace/core/tensor.h"
#include "millrace/layers/layer.h"

namespace millrace {

// Fills `values` (contiguous, f32 or f64, on the context's device) as `initializer` says. `name` is the whole name,
// "dense.weight". The device has the values after context.synchronize().
void initialize(Context& context, std::string_view name, const Initializer& initializer, uint64_t seed,
                TensorView values);

}  // namespace millrace
