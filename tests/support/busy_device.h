// Work that keeps a GPU busy while a test looks at the host. Test programs that use it list busy_device.cu, or without
// CUDA idle_device.cpp.
#pragma once

#include "millrace/core/context.h"

namespace millrace::test {

// Gives the context's stream about 2 ms of work. On an emulated GPU each look at an event does a tenth of it.
void keep_busy(Context& context);

// Whether the host goes on meanwhile: not if each launch waits for its end (CUDA_LAUNCH_BLOCKING, some tools), and not
// if the environment gives an emulated GPU an order.
bool can_be_busy(Context& context);

}  // namespace millrace::test
