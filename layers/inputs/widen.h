// widen: bytes as the float32 numbers that they stand for. This is how a layer gets a field of uint8.
#pragma once

#include "millrace/core/context.h"
#include "millrace/core/tensor.h"

namespace millrace {

// to = from, in one pass that allocates nothing. REQUIRES: `from` is uint8, `to` float32; both have one shape, and lie
// on the context's device.
void widen(Context& context, const ConstTensorView& from, const TensorView& to);

}  // namespace millrace
