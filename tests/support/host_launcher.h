// Runs the launches of core/cuda/launch.cuh on the host.
#pragma once

#include <cstdint>

#include "tests/support/thread_block.h"

namespace millrace::test {

struct HostLauncher {
  template <class F>
  void operator()(int64_t count, const F& body) const {
    for (int64_t i = 0; i < count; ++i) body(i);
  }
  template <class F>
  void rows(int64_t count, int64_t, const F& body) const {
    run_rows(4, count, body);
  }
};

}  // namespace millrace::test
