// Recording: what a stream was given between two calls, as a graph that can be launched.
#pragma once

#include <cuda_runtime_api.h>

#include "millrace/core/cuda/backend.h"

namespace millrace::cuda {

class Recording {
 public:
  // Takes over the graph. Throws DeviceError when it cannot be made ready.
  Recording(int device, cudaGraph_t graph);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  void launch(cudaStream_t stream) const;

 private:
  int device_;
  cudaGraphExec_t exec_ = nullptr;
};

}  // namespace millrace::cuda
