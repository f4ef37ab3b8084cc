// An emulated GPU: what stands behind the CUDA runtime's functions in builds with MILLRACE_CUDA=EMULATED.
//
// Memory of the device is memory of the host that nobody may touch while nothing runs on the device. What a stream is
// given waits there until somebody waits for it, so that whatever is read too early is not there yet and whatever is
// overwritten too early is gone. Kernels run on the host, thread by thread. What breaks a rule that a real GPU would
// not report ends the process with a message.
//
// The environment: MILLRACE_EMULATED_GPUS is how many there are (0, so that a test program is on the CPU unless it is
// asked); MILLRACE_EMULATED_ORDER when the work of a stream is done: late (the default), early (at once), or a number,
// the seed of draws. MILLRACE_EMULATED_FAULT=KIND@N plants a fault, for tests of what has to find it: from the N-th
// kernel of the process on, kernels do nothing (wrong), end the process (crash), never end (hang), or fail with an
// error (sticky). That error is returned by all later launches of kernels and graphs, copies, and waits for a stream,
// an event or the device; cudaStreamQuery() and cudaEventQuery() return it when all work is done. Anything else in the
// variable ends the process at the first kernel.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#define MILLRACE_EMULATION_API __attribute__((visibility("default")))

namespace millrace::emulation {

// What was asked of the devices so far.
struct Counters {
  uint64_t kernels = 0, copies = 0, fills = 0, library_calls = 0;  // given to streams or captured
  uint64_t graph_launches = 0, graphs = 0;
  uint64_t host_spins = 0;       // waits for a stream or an event that keep a processor busy, however long
  uint64_t pointer_queries = 0;  // questions where memory lies
  uint64_t allocations = 0;      // of memory of a device, and of pinned memory
  uint64_t device_waits = 0;     // calls that wait for all streams of a device, cudaMalloc and cudaFree among them
};
MILLRACE_EMULATION_API Counters counters();

// Ends the process: `rule` was broken.
[[noreturn]] MILLRACE_EMULATION_API void violation(const std::string& rule);

// From now on no graph becomes part of another one, as a driver may have it.
MILLRACE_EMULATION_API void refuse_child_graphs(bool refuse);

// The next plan that cuBLASLt or cuDNN is asked for fails with this status of the library's.
MILLRACE_EMULATION_API void fail_next_plan(int status);
// For the libraries: the status, once.
MILLRACE_EMULATION_API int take_plan_failure();

// Gives `work` to a stream, or to the graph that it is captured into. What libraries do comes this way, too.
MILLRACE_EMULATION_API cudaError_t enqueue(cudaStream_t stream, std::function<void()> work);
// What libraries count and check.
MILLRACE_EMULATION_API void count_library_call();
MILLRACE_EMULATION_API void require_on_device(const void* data, size_t bytes, const char* what);

// Where a kernel's threads are.
struct Index {
  unsigned x = 0, y = 0, z = 0;
};
struct Place {
  Index thread, block, threads, blocks;
};
MILLRACE_EMULATION_API extern Place place;
MILLRACE_EMULATION_API void synchronize_threads();
// Runs a kernel's body for every thread of a grid.
MILLRACE_EMULATION_API void run_grid(dim3 blocks, dim3 threads, const std::function<void()>& body);

// Ends the process where the address is in the stack of the thread that launches a kernel: a GPU may not read there, or
// no longer find there what was meant.
MILLRACE_EMULATION_API void require_not_in_stack(const void* address);

// The same for every address that a kernel's argument holds.
template <class T>
void require_no_stack(const T& argument) {
  if constexpr (std::is_pointer_v<T>) {
    require_not_in_stack(reinterpret_cast<const void*>(argument));
  } else if constexpr (std::is_array_v<T>) {
    for (const auto& element : argument) require_no_stack(element);
  } else if constexpr (std::is_class_v<T>) {
    const auto* const begin = reinterpret_cast<const std::byte*>(&argument);
    const auto look = [begin]<class M>(const M& member) {
      if constexpr (std::is_pointer_v<M>) {
        const auto* const at = reinterpret_cast<const std::byte*>(member);
        if (at >= begin && at < begin + sizeof(T)) return require_no_stack(*member);
      }
      require_no_stack(member);
    };
    // Clang's: calls with the value of each member, or with its place in the argument where nothing could print it.
    __builtin_dump_struct(&argument, [&](const char*, const auto&... members) { (look(members), ...); });
  }
}

// What cudaLaunchKernel() knows a kernel by.
using KernelStart = std::function<std::function<void()>(void** arguments)>;
MILLRACE_EMULATION_API const void* know_kernel(const void* kernel, KernelStart start);

template <class... Parameters>
const void* address_of(void (*kernel)(Parameters...)) {
  return know_kernel(reinterpret_cast<const void*>(kernel), [kernel](void** arguments) {
    return [&]<size_t... I>(std::index_sequence<I...>) {
      // Taken now, as a launch does: the caller's own may be gone when the kernel runs.
      std::tuple<std::remove_const_t<Parameters>...> values(
          *static_cast<std::remove_const_t<Parameters>*>(arguments[I])...);
      (require_no_stack(std::get<I>(values)), ...);
      return std::function<void()>([kernel, values] { std::apply(kernel, values); });
    }(std::index_sequence_for<Parameters...>{});
  });
}

}  // namespace millrace::emulation
