// Runs on the host, one index after the other, what core/cuda/launch.cuh launches on a GPU.
#pragma once

#include <cstdint>

#include "millrace/core/lanes.h"

namespace millrace::test {

struct HostLauncher {
  template <class F>
  void operator()(int64_t count, const F& body) const {
    for (int64_t i = 0; i < count; ++i) body(i);
  }
  template <class F>
  void rows(int64_t count, int64_t, const F& body) const {
    for (int64_t i = 0; i < count; ++i) body(i, OneLane());
  }
};

}  // namespace millrace::test
