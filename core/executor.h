// Executor: exactly `threads` threads, the caller's included, shared by input tasks and the step's products.
//
//   Executor executor(4);
//   executor.parallel_for(tiles, [&](int64_t tile) { ... });
//
// Thread-safety: every member may be called from any thread, also from inside a task. Tasks wait for other tasks only
// through parallel_for and TaskGroup::wait, and a thread that waits helps: it runs other tasks meanwhile. Inside,
// OpenMP is limited to one thread and the floating-point mode is the default one; afterwards the caller's settings come
// back.
//
// `threads - 1` threads are the executor's own, and one caller at a time is inside with them. Other callers wait until
// it has left, in the order in which they came, so a body must not wait for what another caller does. Executors nest:
// inside, a thread may call another executor, and from there this one again; its loops then run only on that thread.
// Two executors whose tasks call each other may wait for each other.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "millrace/core/export.h"
#include "millrace/core/function_ref.h"

namespace millrace {

class Completion;
class TaskGroup;
class Trace;

// A piece of work for TaskGroup::submit. It runs once for each submission and keeps its errors to itself.
class MILLRACE_EXPORT Task {
 public:
  virtual ~Task() = default;
  virtual void run() noexcept = 0;
};

class MILLRACE_EXPORT Executor {
 public:
  // The processors that this process may use: affinity mask and cgroup quotas (cpu_quota.h), at least 1.
  static int available_threads();

  // The library that runs the threads: "oneTBB 2021.8".
  static std::string library();

  // `threads` >= 1, or 0 for available_threads(). `trace` receives the loops, and outlives this.
  explicit Executor(int threads = 0, Trace* trace = nullptr);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  int threads() const { return threads_; }
  // The trace of everything that runs on this executor; null: nobody traces.
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

// Tasks that are waited for together. The destructor waits. Tasks may run in any order.
class MILLRACE_EXPORT TaskGroup {
 public:
  explicit TaskGroup(Executor& executor);
  ~TaskGroup();
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  // Schedules `task`, which must live until it has run. May be called from inside a task of this group.
  void submit(Task& task);
  // Helps until every submitted task has ended. Everything that the tasks wrote is visible afterwards.
  void wait() noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// One event: its owner arms it, a task signals it once, and one thread waits for it and helps meanwhile.
class MILLRACE_EXPORT Completion {
 public:
  explicit Completion(Executor& executor);
  // REQUIRES: not armed.
  ~Completion();
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;

  // REQUIRES: not armed.
  void arm();
  // Ends the wait; everything that the caller wrote before is visible to the waiter. REQUIRES: armed.
  void signal() noexcept;
  // Returns at once if not armed.
  void wait() noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace
