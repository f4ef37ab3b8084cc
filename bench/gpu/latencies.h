// Measures how long it takes to bring batches to a GPU and to launch its work.
#pragma once

#include <vector>

#include "bench/gpu/rates.h"

namespace millrace::bench {

// `small`: for a GPU that is emulated. REQUIRES: a CUDA device.
std::vector<Rate> measure_latencies(Context& context, bool small);

}  // namespace millrace::bench
