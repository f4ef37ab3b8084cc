// The callbacks of a C program, as those of a training.
#pragma once

#include <vector>

#include "millrace/c.h"
#include "millrace/layers/loss.h"
#include "millrace/trainer/trainer.h"

namespace millrace::c {

// They point into `values`.
std::vector<millrace_score> scores_of(const MetricValues& values);

// `given` may be null.
TrainCallbacks callbacks_of(const millrace_callbacks* given);

}  // namespace millrace::c
