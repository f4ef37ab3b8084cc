// What a training reports, for the callbacks of a C program.
#pragma once

#include <vector>

#include "millrace/c.h"
#include "millrace/layers/loss.h"
#include "millrace/trainer/trainer.h"

namespace millrace::c {

// The names point into `values`.
std::vector<millrace_score> scores_of(const MetricValues& values);

// Callbacks that call those of the program. `given` may be null.
TrainCallbacks callbacks_of(const millrace_callbacks* given);

}  // namespace millrace::c
