#include "tests/support/busy_device.h"

#include <cstdlib>

#include "millrace/core/event.h"
#include "millrace/core/parallel.h"

namespace millrace::test {

namespace {

constexpr int kPieces = 10;
constexpr long long kCycles = 400'000;  // cycles of a piece of work: 200 us at 2 GHz

struct Spin {
  __device__ void operator()(int64_t) const {
    const long long begin = clock64();
    while (clock64() - begin < kCycles) continue;
  }
};

}  // namespace

void keep_busy(Context& context) {
  for (int i = 0; i < kPieces; ++i) cuda::launch_for_each(context.cuda(), 1, Spin{});
}

bool can_be_busy(Context& context) {
  if (std::getenv("MILLRACE_EMULATED_ORDER") != nullptr) return false;
  Event end(context.device());
  keep_busy(context);
  context.record(end);
  return !end.finished();
}

}  // namespace millrace::test
