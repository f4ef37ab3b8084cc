// The first engines of cuDNN's own lists for the convolutions of bench/peers/lenet.yaml, each with its time, and the
// engines that are taken in each precision. They show the cost of an exact and ordered sum.
#pragma once

#include <string>

#include "millrace/core/context.h"

namespace millrace::bench {

// A JSON list; check.py says what is in it. `small`: for a GPU that is emulated. REQUIRES: a CUDA device.
std::string time_engines(Context& context, bool small);

}  // namespace millrace::bench
