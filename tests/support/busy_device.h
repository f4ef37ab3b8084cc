// Work that keeps a GPU busy while a test looks at what the host does meanwhile; programs with it list busy_device.cu,
// or idle_device.cpp without CUDA.
#pragma once

#include "millrace/core/context.h"

namespace millrace::test {

// Gives the context's stream about 2 ms of work. On an emulated GPU each look at an event does a tenth of it.
void keep_busy(Context& context);

// Whether the host goes on meanwhile: not where each launch waits for its end (CUDA_LAUNCH_BLOCKING, some tools), nor
// where the environment gives an emulated GPU an order.
bool can_be_busy(Context& context);

}  // namespace millrace::test
