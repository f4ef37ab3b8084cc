// The cost of a step for the host: the microseconds in which the host gives the device a batch and the step on it. The
// device's own time for the step does not count.
#pragma once

#include "millrace/core/spec.h"

namespace millrace::bench {

// The median of many rounds. Throws the same errors as a Trainer for this configuration. REQUIRES: a CUDA device.
double host_us_a_step(const Spec& configuration);

}  // namespace millrace::bench
