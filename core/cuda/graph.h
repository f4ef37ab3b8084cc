// Recording: the work that a stream was given between two calls, as a graph that can be launched.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <type_traits>

#include "millrace/core/cuda/backend.h"

namespace millrace::cuda {

struct DestroyGraph {
  void operator()(cudaGraph_t graph) const noexcept { static_cast<void>(cudaGraphDestroy(graph)); }
};
using GraphPointer = std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, DestroyGraph>;

class Recording {
 public:
  // Throws DeviceError if the graph cannot be made ready to launch.
  Recording(int device, GraphPointer graph);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  void launch(cudaStream_t stream) const;
  cudaGraph_t graph() const { return graph_.get(); }

 private:
  int device_;
  GraphPointer graph_;  // kept so that it can become a part of other graphs
  cudaGraphExec_t exec_ = nullptr;
};

}  // namespace millrace::cuda
