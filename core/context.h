// Where work runs: an Executor has the threads, a Device names a device, Memory owns a block on it, and a Context is a
// device with its stream, its library handles and an executor. Everything that computes gets a Context.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "millrace/core/export.h"

namespace millrace {

class Trace;

// A reference to a callable object (not to a plain function) that somebody else owns; two words, no allocation. The
// callable must outlive every call: pass it down, never store it.
template <class Signature>
class FunctionRef;

template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef> && std::is_object_v<std::remove_reference_t<F>> &&
             std::is_invocable_r_v<R, F&, Args...>)
  FunctionRef(F&& callable)  // NOLINT(*-explicit-*,*-forwarding-reference-overload): meant to convert
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(callable)))),
        call_([](void* object, Args... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(object))(std::forward<Args>(args)...);
        }) {}

  R operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

 private:
  void* object_;
  R (*call_)(void*, Args...);
};

// Exactly `threads` threads, the caller's included, shared by input tasks and the step's products.
//
//   Executor executor(4);
//   executor.parallel_for(tiles, [&](int64_t tile) { ... });
//
// Thread-safety: every member may be called from any thread, also from inside a task. Tasks wait for other tasks only
// through parallel_for, and a thread that waits helps: it runs other tasks meanwhile.
// Inside, OpenMP is limited to one thread and the floating-point mode is the default one; afterwards the caller's
// settings come back.
//
// `threads - 1` threads are the executor's own, and one caller at a time is inside with them. Other callers wait until
// it has left, in the order in which they came, so a body must not wait for what another caller does. Executors nest:
// inside, a thread may call another executor, and from there this one again; its loops then run only on that thread.
// Two executors whose tasks call each other may wait for each other.
class MILLRACE_EXPORT Executor {
 public:
  static constexpr int kMostThreads = 4096;

  // The processors that this process may use: affinity mask and cgroup quotas, from 1 to kMostThreads.
  static int available_threads();

  // The library that runs the threads: "oneTBB 2021.8".
  static std::string library();

  // `threads` from 1 to kMostThreads, or 0 for available_threads(); throws ConfigError for others. `trace` receives
  // the loops, and must outlive the executor.
  explicit Executor(int threads = 0, Trace* trace = nullptr);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  int threads() const { return threads_; }
  // The trace of everything that runs on this executor; null if nobody traces.
  Trace* trace() const { return trace_; }

  // Calls body(i) for every i in [0, count), in any order, on any of the threads; returns when all have ended.
  // The exception of the smallest i that threw is thrown; the others still run.
  void parallel_for(int64_t count, FunctionRef<void(int64_t)> body);

  // Runs `body` on the calling thread as one of this executor's threads; its exceptions are thrown. Inside, loops that
  // call parallel_for often are cheaper.
  void run(FunctionRef<void()> body);

  // The number of threads of this executor that exist now, the caller's included; for tests.
  int started_threads() const;

 private:
  friend class TaskGroup;
  friend class Completion;
  struct Impl;

  int threads_;
  Trace* trace_;
  std::unique_ptr<Impl> impl_;
};

enum class DeviceType { cpu, cuda };

struct MILLRACE_EXPORT Device {
  DeviceType type = DeviceType::cpu;
  int index = 0;

  static Device cpu() { return {}; }
  static Device cuda(int index) { return {DeviceType::cuda, index}; }
  bool is_cpu() const { return type == DeviceType::cpu; }
  // "cpu", "cuda:0".
  std::string text() const;
  bool operator==(const Device&) const = default;
};

// The CUDA devices that can be used now.
struct CudaStatus {
  std::vector<int> usable;     // their numbers, the fastest first
  std::string reason;          // why none is usable: "this build has no CUDA support", "no driver", ...
  bool worth_telling = false;  // none is usable although there is a driver or a device
};
MILLRACE_EXPORT CudaStatus cuda_status();

// Which of CUDA's libraries a training needs, besides the one for products.
struct CudaNeeds {
  bool convolutions = false;
};

// "auto" (see automatic_device; a device whose libraries are missing is not usable), "cpu", "cuda" or "cuda:N". Throws
// ConfigError for other text, DeviceError for a device that cannot be used. `warning`, if not null, receives the
// warning of automatic_device().
MILLRACE_EXPORT Device parse_device(std::string_view text, std::string* warning = nullptr, const CudaNeeds& needs = {});

// The first usable device, otherwise the CPU; `warning` then says why, unless there is simply no GPU.
MILLRACE_EXPORT Device automatic_device(const CudaStatus& found, std::string* warning);

// A block of memory on a device, which it owns. Memory is move-only, 64-byte aligned (256 on CUDA) and zero-filled when
// made. Pinned memory is on the host, where a CUDA device can copy from it while other work runs. Memory that a CUDA
// device uses, on it or pinned, is freed only after that work has ended (Context::synchronize, Event).
class MILLRACE_EXPORT Memory {
 public:
  Memory() = default;
  // Zero-filled. If there is not enough memory, throws InternalError with the size, DeviceError if it is a device's.
  Memory(Device device, size_t bytes);
  // Host memory that `reader` can copy from and to without staging; for the CPU it is ordinary memory. Throws
  // DeviceError.
  static Memory pinned(Device reader, size_t bytes);
  Memory(Memory&& other) noexcept { swap(other); }
  Memory& operator=(Memory&& other) noexcept {
    Memory(std::move(other)).swap(*this);
    return *this;
  }
  ~Memory();

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  // The device that the memory is on; the CPU for pinned memory.
  Device device() const { return device_; }
  explicit operator bool() const { return data_ != nullptr; }

 private:
  void swap(Memory& other) noexcept;

  void* data_ = nullptr;
  size_t bytes_ = 0;
  Device device_;
  Device pinned_for_ = Device::cpu();  // the CPU means: not pinned
};

class Event;

namespace cuda {
class State;
struct MILLRACE_EXPORT StateDeleter {
  void operator()(State* state) const noexcept;
};
using StatePointer = std::unique_ptr<State, StateDeleter>;
}  // namespace cuda

// How exactly products and convolutions of float32 values are computed.
enum class Precision : uint8_t {
  float32,  // in full
  tf32,     // a GPU that gains speed by it may round factors to 11 significant bits; sums stay float32
};

// One thread uses a Context at a time. Work on a CUDA device is asynchronous until synchronize(); on the CPU every call
// has finished when it returns. A Context refers to its Executor, which must outlive it.
class MILLRACE_EXPORT Context {
 public:
  // Throws DeviceError when the device cannot be used.
  Context(Device device, Executor& executor, Precision precision = Precision::float32);

  Device device() const { return device_; }
  Precision precision() const { return precision_; }
  Executor& executor() const { return executor_; }
  // The CUDA stream and handles. REQUIRES: device() is a CUDA device.
  cuda::State& cuda() const { return *cuda_; }

  // Copies between host and this device, either way or on one side, in stream order. Ordinary host memory may be reused
  // at return, which may wait for earlier work; pinned memory (Memory::pinned) belongs to the copy until synchronize().
  void copy(void* destination, const void* source, size_t bytes);
  // The same, but never waits. REQUIRES: host memory is pinned for this device, or this device is the CPU.
  void copy_async(void* destination, const void* source, size_t bytes);
  void fill_zero(void* destination, size_t bytes);
  // Waits for the work that this context was given.
  void synchronize();
  // The same for destructors. It ignores a failure of the work, which has surfaced where the result was needed.
  void drain() noexcept;

  // For the library itself, which knows the type Event.
  // Marks in `event` the work that this context was given so far. REQUIRES: an event of this device.
  void record(Event& event);
  // Later work of this context waits for the work that the event marks, on any device; on the CPU this call waits.
  void wait_for(const Event& event);

 private:
  Device device_;
  Precision precision_;
  Executor& executor_;
  cuda::StatePointer cuda_;
};

}  // namespace millrace
