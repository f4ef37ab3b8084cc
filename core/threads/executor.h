// Tasks of an Executor (context.h): a Task is work for one, TaskGroup and Completion wait for it.
//
// Thread-safety: as for the Executor, which must outlive them.
#pragma once

#include <memory>

#include "millrace/core/context.h"
#include "millrace/core/export.h"

namespace millrace {

// A piece of work for TaskGroup::submit. It runs once for each submission and keeps its errors to itself.
class MILLRACE_EXPORT Task {
 public:
  virtual ~Task() = default;
  virtual void run() noexcept = 0;
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
