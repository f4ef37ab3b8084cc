#include "millrace/core/cuda/graph.h"

#include <memory>
#include <type_traits>

#include "millrace/core/cuda/check.h"
#include "millrace/core/cuda/handles.h"
#include "millrace/core/cuda/state.h"

namespace millrace::cuda {

namespace {

struct DestroyGraph {
  void operator()(cudaGraph_t graph) const noexcept { static_cast<void>(cudaGraphDestroy(graph)); }
};

}  // namespace

Recording::Recording(int device, cudaGraph_t graph) : device_(device) {
  const DeviceGuard guard(device);
  const std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, DestroyGraph> owned(graph);
  MILLRACE_CUDA_CHECK(cudaGraphInstantiate(&exec_, graph, 0));
}

Recording::~Recording() {
  const DeviceGuard guard(device_, std::nothrow);
  static_cast<void>(cudaGraphExecDestroy(exec_));
}

void Recording::launch(cudaStream_t stream) const {
  const DeviceGuard guard(device_);
  MILLRACE_CUDA_CHECK(cudaGraphLaunch(exec_, stream));
}

void RecordingDeleter::operator()(Recording* recording) const noexcept { delete recording; }

// Other threads of the host go on as they like: what they do to their own streams does not break the recording.
void begin_recording(State& state) {
  const DeviceGuard guard(state.device());
  MILLRACE_CUDA_CHECK(cudaStreamBeginCapture(state.stream(), cudaStreamCaptureModeThreadLocal));
}

RecordingPointer end_recording(State& state) {
  const DeviceGuard guard(state.device());
  cudaGraph_t graph = nullptr;
  MILLRACE_CUDA_CHECK(cudaStreamEndCapture(state.stream(), &graph));
  return RecordingPointer(new Recording(state.device(), graph));
}

void abandon_recording(State& state) noexcept {
  const DeviceGuard guard(state.device(), std::nothrow);
  cudaGraph_t graph = nullptr;
  static_cast<void>(cudaStreamEndCapture(state.stream(), &graph));
  if (graph != nullptr) static_cast<void>(cudaGraphDestroy(graph));
  static_cast<void>(cudaGetLastError());
}

void launch(State& state, const Recording& recording) { recording.launch(state.stream()); }

}  // namespace millrace::cuda
