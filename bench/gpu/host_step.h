// What a step of a training costs the host: microseconds to give the device a batch and the step on it, while the
// device waits for nothing. What the device takes for it is not in it.
#pragma once

#include "millrace/core/spec.h"

namespace millrace::bench {

// The median of many. Throws what a Trainer would for the same configuration. REQUIRES: a CUDA device.
double host_us_a_step(const Spec& configuration);

}  // namespace millrace::bench
