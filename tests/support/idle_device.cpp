// Busy devices of builds without CUDA: there are none.
#include "tests/support/busy_device.h"

namespace millrace::test {

void keep_busy(Context&) {}
bool can_be_busy(Context&) { return false; }

}  // namespace millrace::test
