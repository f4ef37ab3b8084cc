// A step's cost to the host: the microseconds in which the host gives the device a batch and the step on it, while the
// device waits for nothing. The device's own time for the step does not count.
#pragma once

#include "millrace/core/spec.h"

namespace millrace::bench {

// The median of many. Throws what a Trainer would for the same configuration. REQUIRES: a CUDA device.
double host_us_a_step(const Spec& configuration);

}  // namespace millrace::bench
