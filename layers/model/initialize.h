// The first values of parameters and state, a pure function of the seed and the parameter's name.
//
// Element i in row-major order comes from one draw, philox(seed, fnv1a64(name), i), in double arithmetic, rounded to
// the parameter's dtype at the end:
//   uniform   unit  = ((bits >> 12) + 0.5) / 2^52       to_unit(bits) of the draw's first 64 bits
//             value = (2 * unit - 1) * bound
//   normal    value = deviation * the first number of normal_pair() (random.h)
// The square roots, logarithms and cosines are this library's own or correctly rounded everywhere, so other programs
// compute the same bits (tests/golden/make_golden.py does).
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
