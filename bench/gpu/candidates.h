// The ways that cuBLASLt has to the products of bench/gpu/mlp.yaml, in the order of its own list, each with its time:
// what taking the first costs.
#pragma once

#include <string>

#include "millrace/core/context.h"

namespace millrace::bench {

// A JSON object; check.py says what is in it. `small`: for a GPU that is emulated. REQUIRES: a CUDA device.
std::string time_candidates(Context& context, bool small);

}  // namespace millrace::bench
