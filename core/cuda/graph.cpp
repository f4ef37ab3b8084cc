#include <cuda_runtime_api.h>

#include <memory>
#include <type_traits>
#include <utility>

#include "millrace/core/cuda/backend.h"
#include "millrace/core/cuda/check.h"
#include "millrace/core/cuda/handles.h"
#include "millrace/core/cuda/state.h"

namespace millrace::cuda {

struct DestroyGraph {
  void operator()(cudaGraph_t graph) const noexcept { static_cast<void>(cudaGraphDestroy(graph)); }
};
using GraphPointer = std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, DestroyGraph>;

class Recording {
 public:
  // Throws DeviceError if the graph cannot be made ready to launch.
  Recording(int device, GraphPointer graph) : device_(device), graph_(std::move(graph)) {
    const DeviceGuard guard(device);
    MILLRACE_CUDA_CHECK(cudaGraphInstantiate(&exec_, graph_.get(), 0));
  }
  ~Recording() {
    const DeviceGuard guard(device_, std::nothrow);
    static_cast<void>(cudaGraphExecDestroy(exec_));
  }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  void launch(cudaStream_t stream) const {
    const DeviceGuard guard(device_);
    MILLRACE_CUDA_CHECK(cudaGraphLaunch(exec_, stream));
  }
  cudaGraph_t graph() const { return graph_.get(); }

 private:
  int device_;
  GraphPointer graph_;  // kept so that it can become a part of other graphs
  cudaGraphExec_t exec_ = nullptr;
};

void RecordingDeleter::operator()(Recording* recording) const noexcept { delete recording; }

// Whatever other threads of the host do to their own streams does not break the recording.
void begin_recording(State& state) {
  const DeviceGuard guard(state.device());
  MILLRACE_CUDA_CHECK(cudaStreamBeginCapture(state.stream(), cudaStreamCaptureModeThreadLocal));
}

RecordingPointer end_recording(State& state) {
  const DeviceGuard guard(state.device());
  cudaGraph_t graph = nullptr;
  MILLRACE_CUDA_CHECK(cudaStreamEndCapture(state.stream(), &graph));
  return RecordingPointer(new Recording(state.device(), GraphPointer(graph)));
}

void abandon_recording(State& state) noexcept {
  const DeviceGuard guard(state.device(), std::nothrow);
  cudaGraph_t graph = nullptr;
  static_cast<void>(cudaStreamEndCapture(state.stream(), &graph));
  if (graph != nullptr) static_cast<void>(cudaGraphDestroy(graph));
  static_cast<void>(cudaGetLastError());
}

void launch(State& state, const Recording& recording) { recording.launch(state.stream()); }

// A child graph is copied. It may not allocate or free memory, and may not hold conditions; our recordings do neither.
RecordingPointer chain(State& state, std::span<const Recording* const> links) {
  const DeviceGuard guard(state.device());
  cudaGraph_t made = nullptr;
  MILLRACE_CUDA_CHECK(cudaGraphCreate(&made, 0));
  GraphPointer whole(made);
  cudaGraphNode_t last = nullptr;
  for (const Recording* link : links) {
    const cudaGraphNode_t before = last;
    const size_t count = before != nullptr ? 1 : 0;
    MILLRACE_CUDA_CHECK(cudaGraphAddChildGraphNode(&last, whole.get(), &before, count, link->graph()));
  }
  return RecordingPointer(new Recording(state.device(), std::move(whole)));
}

}  // namespace millrace::cuda
