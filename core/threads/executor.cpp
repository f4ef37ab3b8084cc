#include "millrace/core/threads/executor.h"

#include <pthread.h>
#include <sched.h>

#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <oneapi/tbb/version.h>
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/library_call.h"
#include "millrace/core/text.h"
#include "millrace/core/threads/cpu_quota.h"
#include "millrace/core/threads/float_mode.h"
#include "millrace/core/threads/mutex.h"
#include "millrace/core/threads/processor_seats.h"
#include "millrace/core/trace.h"

// Two functions of OpenMP's runtime, which oneDNN uses. They are declared here because not every compiler has the
// header.
extern "C" {
int omp_get_max_threads() noexcept;
void omp_set_num_threads(int count) noexcept;
}

// This file is compiled without ThreadSanitizer, which cannot see oneTBB's joins. So it announces them itself, also if
// only the program was built with the sanitizer, and not the library. Accesses of oneTBB to its own memory are hidden
// from the sanitizer, until one of our bodies begins.
extern "C" {
[[gnu::weak]] void __tsan_acquire(void* address);
[[gnu::weak]] void __tsan_release(void* address);
[[gnu::weak]] void AnnotateIgnoreReadsBegin(const char* file, int line);
[[gnu::weak]] void AnnotateIgnoreReadsEnd(const char* file, int line);
[[gnu::weak]] void AnnotateIgnoreWritesBegin(const char* file, int line);
[[gnu::weak]] void AnnotateIgnoreWritesEnd(const char* file, int line);
}
#define MILLRACE_ACQUIRE(address) (__tsan_acquire != nullptr ? __tsan_acquire(address) : static_cast<void>(0))
#define MILLRACE_RELEASE(address) (__tsan_release != nullptr ? __tsan_release(address) : static_cast<void>(0))
#define MILLRACE_HIDE()                            \
  if (__tsan_acquire != nullptr) {                 \
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);  \
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__); \
  }                                                \
  static_assert(true)
#define MILLRACE_SHOW()                          \
  if (__tsan_acquire != nullptr) {               \
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__); \
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);  \
  }                                              \
  static_assert(true)

namespace millrace {

namespace {

// Is held around every call of oneTBB.
class TbbCall {
 public:
  TbbCall() { MILLRACE_HIDE(); }
  ~TbbCall() { MILLRACE_SHOW(); }
  TbbCall(const TbbCall&) = delete;
  TbbCall& operator=(const TbbCall&) = delete;

 private:
  LibraryCall mark_;
};

// Is held around every body that oneTBB calls.
class TbbBody {
 public:
  TbbBody() { MILLRACE_SHOW(); }
  ~TbbBody() { MILLRACE_HIDE(); }
  TbbBody(const TbbBody&) = delete;
  TbbBody& operator=(const TbbBody&) = delete;

 private:
  OwnCode mark_;
};

// Sets what every thread of an executor must have, and puts the thread's own settings back.
class ThreadSettings {
 public:
  ThreadSettings() : openmp_threads_(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~ThreadSettings() { omp_set_num_threads(openmp_threads_); }
  ThreadSettings(const ThreadSettings&) = delete;
  ThreadSettings& operator=(const ThreadSettings&) = delete;

 private:
  const FloatMode mode_;
  int openmp_threads_;
};

// An executor that this thread is in, until the end of the block. Executors nest.
class Stay {
 public:
  explicit Stay(const void* executor) : executor_(executor), outer_(std::exchange(innermost, this)) {}
  ~Stay() { innermost = outer_; }
  Stay(const Stay&) = delete;
  Stay& operator=(const Stay&) = delete;

  // in(): whether this thread is in `executor`. last_in(): whether it has entered no other one since.
  static bool in(const void* executor) {
    const Stay* stay = innermost;
    while (stay != nullptr && stay->executor_ != executor) stay = stay->outer_;
    return stay != nullptr;
  }
  static bool last_in(const void* executor) { return innermost != nullptr && innermost->executor_ == executor; }

 private:
  static constinit thread_local const Stay* innermost;

  const void* executor_;
  const Stay* outer_;
};
constinit thread_local const Stay* Stay::innermost = nullptr;

// Whether this thread is one that an executor started; a caller's own thread is never moved.
constinit thread_local bool own_thread = false;

// A lock that callers get in the order in which they ask, so that one that comes again and again does not keep the
// others out.
class FairLock {
 public:
  void lock() {
    const uint32_t mine = asked_.fetch_add(1);
    for (uint32_t now = served_.load(); now != mine; now = served_.load()) served_.wait(now);
    MILLRACE_ACQUIRE(this);
  }
  void unlock() {
    MILLRACE_RELEASE(this);
    served_.fetch_add(1);
    served_.notify_all();
  }

 private:
  std::atomic<uint32_t> asked_{0}, served_{0};
};

}  // namespace

struct Executor::Impl {
  // oneTBB gives every task the floating-point mode in which its arena was made: REQUIRES the default one.
  explicit Impl(int threads) : seats(threads), arena(threads, static_cast<unsigned>(threads)) {
    const TbbCall inside;
    arena.initialize();
    hold_handle = hold.defer([] {});
    helpers.reserve(static_cast<size_t>(threads) - 1);
  }

  ~Impl() {
    {
      const TbbCall inside;
      hold_handle = {};
    }
    for (std::thread& helper : helpers) helper.join();
  }

  // Starts the executor's own threads and waits until they run. Throws the failure of one that could not start.
  void start_helpers(int count);

  // Runs `body` on this thread as one of the executor's threads, in the place of the arena that its own threads leave
  // free.
  template <class Body>
  void enter(const Body& body) {
    if (Stay::in(this)) {
      body();
      return;
    }
    const std::lock_guard lock(entry);
    take_place(body);
  }

  // REQUIRES: a free place in the arena. Otherwise oneTBB would give `body` to a thread that has a place, or start a
  // thread of its own.
  template <class Body>
  void take_place(const Body& body) {
    const TbbCall inside;
    arena.execute([&] {
      const TbbBody outside;
      const ThreadSettings settings;
      const Stay stay(this);
      body();
    });
  }

  // Called at the start of a tile or a task.
  ProcessorSeats::Seat sit() { return {seats, own_thread}; }

  ProcessorSeats seats;
  FairLock entry;  // held by the one caller that is inside
  oneapi::tbb::task_arena arena;
  oneapi::tbb::task_group hold;  // helpers wait for it until the executor ends; while they wait, they run tasks
  oneapi::tbb::task_handle hold_handle;
  std::vector<std::thread> helpers;
  std::atomic<int> started{1};
  Mutex mutex;
  std::exception_ptr failure MILLRACE_GUARDED_BY(mutex);  // why a helper could not start
};

void Executor::Impl::start_helpers(int count) {
  const auto arrive = [this] {
    started.fetch_add(1);
    started.notify_all();
  };
  const auto help = [this, arrive](int number) {
    own_thread = true;
    try {
      // The name is shown by debuggers, `top -H` and traces.
      ::pthread_setname_np(::pthread_self(), cat("executor ", number).c_str());
      take_place([this, arrive] {
        arrive();
        const TbbCall inside;
        hold.wait();
      });
    } catch (...) {
      {
        const MutexLock lock(mutex);
        failure = std::current_exception();
      }
      arrive();
    }
  };
  for (int i = 0; i < count; ++i) helpers.emplace_back(help, i + 1);
  for (int seen = started.load(); seen <= count; seen = started.load()) started.wait(seen);
  const MutexLock lock(mutex);
  if (failure) std::rethrow_exception(failure);
}

std::string Executor::library() { return cat("oneTBB ", TBB_runtime_version()); }

int Executor::available_threads() {
  int threads = static_cast<int>(std::thread::hardware_concurrency());
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) threads = CPU_COUNT(&set);
  if (const int quota = quota_threads(); quota > 0) threads = std::min(threads, quota);
  return std::clamp(threads, 1, kMostThreads);
}

Executor::Executor(int threads, Trace* trace) : threads_(threads == 0 ? available_threads() : threads), trace_(trace) {
  if (threads_ < 1 || threads_ > kMostThreads)
    throw ConfigError(cat("expected from 1 to ", kMostThreads, " threads, got ", threads));
  try {
    const ThreadSettings settings;
    impl_ = std::make_unique<Impl>(threads_);
    impl_->start_helpers(threads_ - 1);
  } catch (const std::bad_alloc&) {
    throw InternalError(cat("could not start ", count_of(threads_, "thread"), ": out of memory"), {}, "lower threads");
  } catch (const std::system_error& failure) {
    throw IoError(cat("could not start ", count_of(threads_, "thread"), ": ", failure.what()), {}, "lower threads");
  } catch (const std::exception& failure) {
    throw InternalError(cat("could not start ", count_of(threads_, "thread"), ": ", failure.what()), {},
                        "lower threads");
  }
}

Executor::~Executor() = default;

int Executor::started_threads() const { return impl_->started.load(); }

void Executor::run(FunctionRef<void()> body) { impl_->enter(body); }

void Executor::parallel_for(int64_t count, FunctionRef<void(int64_t)> body) {
  if (count <= 0) return;
  struct Shared {
    Mutex mutex;  // guards both while the loop runs
    std::exception_ptr failure;
    int64_t failed_index = 0;
  } shared;
  const auto call = [&](int64_t index) {
    try {
      body(index);
    } catch (...) {
      const MutexLock lock(shared.mutex);
      if (!shared.failure || index < shared.failed_index) {
        shared.failure = std::current_exception();
        shared.failed_index = index;
      }
    }
  };
  impl_->enter([&] {
    // If this thread has entered another executor since, oneTBB would give the loop to that executor's threads.
    if (count == 1 || threads_ == 1 || !Stay::last_in(impl_.get())) {
      for (int64_t i = 0; i < count; ++i) call(i);
      return;
    }
    const TraceLoop loop(trace_);
    MILLRACE_RELEASE(&shared);
    const TbbCall inside;
    oneapi::tbb::parallel_for(
        oneapi::tbb::blocked_range<int64_t>(0, count, 1),
        [&](const oneapi::tbb::blocked_range<int64_t>& range) {
          const TbbBody outside;
          MILLRACE_ACQUIRE(&shared);
          const ProcessorSeats::Seat seat = impl_->sit();
          {
            const TraceLoop::Turn turn(loop);
            for (int64_t i = range.begin(); i < range.end(); ++i) call(i);
          }
          MILLRACE_RELEASE(&shared);
        },
        oneapi::tbb::simple_partitioner());
    MILLRACE_ACQUIRE(&shared);
  });
  if (shared.failure) std::rethrow_exception(shared.failure);
}

struct TaskGroup::Impl {
  Executor::Impl* executor;
  oneapi::tbb::task_group group;
};

TaskGroup::TaskGroup(Executor& executor) : impl_(new Impl{executor.impl_.get(), {}}) {}

TaskGroup::~TaskGroup() { wait(); }

void TaskGroup::submit(Task& task) {
  MILLRACE_RELEASE(&task);
  impl_->executor->enter([&] {
    const TbbCall inside;
    impl_->group.run([&task, impl = impl_.get()] {
      const TbbBody outside;
      MILLRACE_ACQUIRE(&task);
      const ProcessorSeats::Seat seat = impl->executor->sit();
      task.run();
      MILLRACE_RELEASE(impl);
    });
  });
}

void TaskGroup::wait() noexcept {
  impl_->executor->enter([&] {
    const TbbCall inside;
    impl_->group.wait();
  });
  MILLRACE_ACQUIRE(impl_.get());
}

// A deferred task that never runs keeps the group unfinished until it is dropped.
struct Completion::Impl {
  Executor::Impl* executor;
  oneapi::tbb::task_group group;
  oneapi::tbb::task_handle handle;
};

Completion::Completion(Executor& executor) : impl_(new Impl{executor.impl_.get(), {}, {}}) {}

Completion::~Completion() = default;

void Completion::arm() {
  impl_->executor->enter([&] {
    const TbbCall inside;
    impl_->handle = impl_->group.defer([] {});
  });
}

void Completion::signal() noexcept {
  MILLRACE_RELEASE(impl_.get());
  // The waiter may destroy this object as soon as the handle is gone, so the handle is dropped from the stack.
  const TbbCall inside;
  const oneapi::tbb::task_handle handle = std::move(impl_->handle);
}

void Completion::wait() noexcept {
  impl_->executor->enter([&] {
    const TbbCall inside;
    impl_->group.wait();
  });
  MILLRACE_ACQUIRE(impl_.get());
}

}  // namespace millrace
