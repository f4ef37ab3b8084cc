// The algorithms of cuBLASLt for the products of bench/gpu/mlp.yaml, in the order of its own list, each with its time.
// They show the cost of taking the first one. Also cuDNN's for the convolutions of LeNet (engines.h).
#pragma once

#include <string>
#include <string_view>

#include "millrace/core/context.h"
#include "millrace/core/threads/executor.h"

namespace millrace::bench {

// "us": the microseconds of `time`, or null followed by "failed": why.
std::string timed_or_why_not(FunctionRef<double()> time);
// `name`: a list with the items of `list`, or an empty one followed by "failed": why.
std::string list_or_why_not(std::string_view name, FunctionRef<std::string()> list);

// A JSON object; check.py says what is in it. `small`: for a GPU that is emulated. REQUIRES: a CUDA device.
std::string time_candidates(Context& context, bool small);

}  // namespace millrace::bench
