// Streams, events, graphs and launches.
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>

#include "tests/emulated_gpu/fault.h"
#include "tests/emulated_gpu/runtime.h"

namespace millrace::emulation {

namespace {

std::map<cudaStream_t, std::shared_ptr<EmulatedStream>>& streams() {
  static std::map<cudaStream_t, std::shared_ptr<EmulatedStream>> value;
  return value;
}

struct EmulatedEvent {
  std::shared_ptr<Mark> mark;
  std::shared_ptr<Capture> capture;
  std::vector<size_t> behind;
  std::chrono::steady_clock::time_point recorded;
  bool blocking = false;  // who waits for it sleeps
};

EmulatedEvent& event_of(cudaEvent_t event) {
  if (event == nullptr) violation("an event that is none");
  return *reinterpret_cast<EmulatedEvent*>(event);
}

// Those that were made and not destroyed.
std::map<cudaGraph_t, std::unique_ptr<EmulatedGraph>>& graphs() {
  static std::map<cudaGraph_t, std::unique_ptr<EmulatedGraph>> value;
  return value;
}

cudaGraph_t keep(std::unique_ptr<EmulatedGraph> graph) {
  const auto handle = reinterpret_cast<cudaGraph_t>(graph.get());
  graphs().emplace(handle, std::move(graph));
  return handle;
}

EmulatedGraph& graph_of(cudaGraph_t handle) {
  const auto found = graphs().find(handle);
  if (found == graphs().end()) violation("a graph that is none, or was destroyed");
  return *found->second;
}

struct EmulatedExec {
  std::shared_ptr<const EmulatedGraph> graph;
};

bool child_graphs_refused = false;

std::unordered_map<const void*, KernelStart>& kernels() {
  static std::unordered_map<const void*, KernelStart> known;
  return known;
}

thread_local std::vector<std::weak_ptr<Capture>> thread_captures;

struct Stack {
  uintptr_t begin = 0, end = 0;
};

Stack stack_of_thread() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return {};
  void* begin = nullptr;
  size_t bytes = 0;
  pthread_attr_getstack(&attributes, &begin, &bytes);
  pthread_attr_destroy(&attributes);
  return {reinterpret_cast<uintptr_t>(begin), reinterpret_cast<uintptr_t>(begin) + bytes};
}

}  // namespace

std::shared_ptr<EmulatedStream> stream_of(cudaStream_t handle) {
  if (handle == cudaStreamPerThread) {
    static thread_local std::map<int, std::shared_ptr<EmulatedStream>> own;
    auto& stream = own[current_device()];
    if (!stream) stream = std::make_shared<EmulatedStream>(current_device());
    return stream;
  }
  const auto found = streams().find(handle);
  if (found == streams().end()) violation("a stream that is none, or the one that waits for all others");
  return found->second;
}

cudaError_t refuse_in_capture() {
  for (const auto& weak : thread_captures) {
    if (const auto capture = weak.lock()) {
      capture->broken = true;
      return returned(cudaErrorStreamCaptureUnsupported);
    }
  }
  return cudaSuccess;
}

cudaError_t enqueue(cudaStream_t stream, std::function<void()> work) {
  const std::lock_guard lock(device_lock());
  stream_of(stream)->give(std::move(work));
  return cudaSuccess;
}

void refuse_child_graphs(bool refuse) {
  const std::lock_guard lock(device_lock());
  child_graphs_refused = refuse;
}

void require_not_in_stack(const void* address) {
  static thread_local const Stack stack = stack_of_thread();
  const auto at = reinterpret_cast<uintptr_t>(address);
  if (at >= stack.begin && at < stack.end) violation("a kernel is given an address in the stack of the host");
}

const void* know_kernel(const void* kernel, KernelStart start) {
  const std::lock_guard lock(device_lock());
  kernels().try_emplace(kernel, std::move(start));
  return kernel;
}

}  // namespace millrace::emulation

using namespace millrace::emulation;

extern "C" {

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  const std::lock_guard lock(device_lock());
  activate(current_device());
  auto made = std::make_shared<EmulatedStream>(current_device());
  *stream = reinterpret_cast<cudaStream_t>(made.get());
  streams().emplace(*stream, std::move(made));
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const std::lock_guard lock(device_lock());
  return streams().erase(stream) == 1 ? cudaSuccess : returned(cudaErrorInvalidResourceHandle);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const std::lock_guard lock(device_lock());
  const auto on = stream_of(stream);
  if (on->capture()) {
    on->capture()->broken = true;
    return returned(cudaErrorStreamCaptureUnsupported);
  }
  if (!on->idle()) ++count().host_spins;
  on->finish();
  return sticky_error();
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  const std::lock_guard lock(device_lock());
  const auto on = stream_of(stream);
  if (on->capture()) {
    on->capture()->broken = true;
    return returned(cudaErrorStreamCaptureUnsupported);
  }
  if (on->idle()) return sticky_error();
  // As for an event.
  on->step();
  return returned(cudaErrorNotReady);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const std::lock_guard lock(device_lock());
  const auto on = stream_of(stream);
  const EmulatedEvent& point = event_of(event);
  if (point.capture) {
    on->join(point.capture, point.behind);
  } else if (on->capture()) {
    on->capture()->broken = true;
    return returned(cudaErrorStreamCaptureIsolation);
  } else if (point.mark && !point.mark->reached) {
    on->wait(point.mark);
  }
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  const std::lock_guard lock(device_lock());
  activate(current_device());
  auto* const made = new EmulatedEvent;
  made->blocking = (flags & cudaEventBlockingSync) != 0;
  *event = reinterpret_cast<cudaEvent_t>(made);
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const std::lock_guard lock(device_lock());
  delete &event_of(event);
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const std::lock_guard lock(device_lock());
  EmulatedEvent& point = event_of(event);
  const auto on = stream_of(stream);
  point.capture = on->capture();
  point.behind = on->captured_behind();
  if (point.capture) return cudaSuccess;
  point.recorded = std::chrono::steady_clock::now();
  point.mark = std::make_shared<Mark>();
  on->record(point.mark);
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  const std::lock_guard lock(device_lock());
  const EmulatedEvent& point = event_of(event);
  if (point.capture) {
    point.capture->broken = true;
    return returned(cudaErrorStreamCaptureUnsupported);
  }
  if (!point.mark || point.mark->reached) return sticky_error();
  // Time passes while somebody asks again and again.
  if (const auto stream = point.mark->stream.lock()) stream->step();
  return returned(cudaErrorNotReady);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const std::lock_guard lock(device_lock());
  const EmulatedEvent& point = event_of(event);
  if (point.capture) {
    point.capture->broken = true;
    return returned(cudaErrorStreamCaptureUnsupported);
  }
  if (point.mark && !point.mark->reached) {
    if (!point.blocking) ++count().host_spins;
    if (const auto stream = point.mark->stream.lock()) stream->finish(*point.mark);
  }
  return sticky_error();
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  const std::lock_guard lock(device_lock());
  const EmulatedEvent &first = event_of(from), &last = event_of(to);
  if (!first.mark || !last.mark) return returned(cudaErrorInvalidResourceHandle);
  if (!first.mark->reached || !last.mark->reached) return returned(cudaErrorNotReady);
  *milliseconds = std::chrono::duration<float, std::milli>(last.recorded - first.recorded).count();
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  const std::lock_guard lock(device_lock());
  if (mode != cudaStreamCaptureModeThreadLocal) violation("a capture that other threads of the host may break");
  const auto on = stream_of(stream);
  if (on->capture()) return returned(cudaErrorIllegalState);
  const auto capture = std::make_shared<Capture>();
  on->join(capture, {});
  thread_captures.push_back(capture);
  return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  const std::lock_guard lock(device_lock());
  const auto capture = stream_of(stream)->capture();
  *status = !capture          ? cudaStreamCaptureStatusNone
            : capture->broken ? cudaStreamCaptureStatusInvalidated
                              : cudaStreamCaptureStatusActive;
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const std::lock_guard lock(device_lock());
  *graph = nullptr;
  const auto on = stream_of(stream);
  const std::shared_ptr<Capture> capture = on->capture();
  if (!capture || capture->streams.front().lock() != on) return returned(cudaErrorIllegalState);
  const bool joined = capture->joined(on->captured_behind());
  for (const auto& weak : capture->streams) {
    if (const auto captured = weak.lock()) captured->leave_capture();
  }
  std::erase_if(thread_captures, [&](const auto& weak) { return weak.expired() || weak.lock() == capture; });
  if (capture->broken) return returned(cudaErrorStreamCaptureInvalidated);
  if (!joined) return returned(cudaErrorStreamCaptureUnjoined);
  *graph = keep(std::make_unique<EmulatedGraph>(std::move(capture->graph)));
  return cudaSuccess;
}

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned flags) {
  const std::lock_guard lock(device_lock());
  if (flags != 0) return returned(cudaErrorInvalidValue);
  *graph = keep(std::make_unique<EmulatedGraph>());
  return cudaSuccess;
}

// Names each node that it stands behind once, all of them in `graph`; copies the child.
cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                       size_t count, cudaGraph_t child) {
  const std::lock_guard lock(device_lock());
  EmulatedGraph& whole = graph_of(graph);
  const EmulatedGraph& part = graph_of(child);
  if (child_graphs_refused || graph == child) return returned(cudaErrorInvalidValue);
  std::vector<const EmulatedGraph::Child*> behind;
  for (size_t i = 0; i < count; ++i) {
    const auto* const before = reinterpret_cast<const EmulatedGraph::Child*>(dependencies[i]);
    const bool known =
        std::any_of(whole.children.begin(), whole.children.end(), [&](const auto& one) { return one.get() == before; });
    const bool again = std::find(behind.begin(), behind.end(), before) != behind.end();
    if (!known || again) return returned(cudaErrorInvalidValue);
    behind.push_back(before);
  }
  *node = reinterpret_cast<cudaGraphNode_t>(const_cast<EmulatedGraph::Child*>(&whole.add(part, behind)));
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  const std::lock_guard lock(device_lock());
  if (const cudaError_t refused = refuse_in_capture(); refused != cudaSuccess) return refused;
  ++count().graphs;
  auto copy = std::make_shared<EmulatedGraph>();
  copy->nodes = graph_of(graph).nodes;
  *exec = reinterpret_cast<cudaGraphExec_t>(new EmulatedExec{std::move(copy)});
  return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) { return cudaSuccess; }

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  const std::lock_guard lock(device_lock());
  ++count().graph_launches;
  const auto on = stream_of(stream);
  if (on->capture()) violation("a graph is launched while its stream is captured");
  on->give([graph = reinterpret_cast<const EmulatedExec*>(exec)->graph] { graph->run(); });
  return sticky_error();
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  const std::lock_guard lock(device_lock());
  return graphs().erase(graph) == 1 ? cudaSuccess : returned(cudaErrorInvalidValue);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  const std::lock_guard lock(device_lock());
  delete reinterpret_cast<EmulatedExec*>(exec);
  return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void* kernel, dim3 blocks, dim3 threads, void** arguments, size_t,
                             cudaStream_t stream) {
  const std::lock_guard lock(device_lock());
  const auto known = kernels().find(kernel);
  if (known == kernels().end()) return returned(cudaErrorInvalidDeviceFunction);
  if (blocks.x == 0 || threads.x == 0 || threads.x > 1024) return returned(cudaErrorInvalidConfiguration);
  ++count().kernels;
  stream_of(stream)->give([blocks, threads, body = known->second(arguments)] {
    if (meets_no_fault()) run_grid(blocks, threads, body);
  });
  return sticky_error();
}

}  // extern "C"
