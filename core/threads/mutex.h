// Mutex, MutexLock and MutexUnlock: a mutex that says which members it guards, so that the compiler can check it.
//
//   Mutex mutex_;
//   int64_t waiting_ MILLRACE_GUARDED_BY(mutex_) = 0;
//   void add_locked() MILLRACE_REQUIRES(mutex_);  // its caller holds the mutex
//
// Clang reports every use of a guarded member without its mutex (-Wthread-safety); other compilers check nothing.
#pragma once

#include <condition_variable>
#include <mutex>

#ifdef __clang__
#define MILLRACE_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define MILLRACE_THREAD_ATTRIBUTE(x)
#endif
#define MILLRACE_GUARDED_BY(mutex) MILLRACE_THREAD_ATTRIBUTE(guarded_by(mutex))
#define MILLRACE_REQUIRES(mutex) MILLRACE_THREAD_ATTRIBUTE(requires_capability(mutex))

namespace millrace {

class MILLRACE_THREAD_ATTRIBUTE(capability("mutex")) Mutex {
 public:
  void lock() MILLRACE_THREAD_ATTRIBUTE(acquire_capability()) { mutex_.lock(); }
  void unlock() MILLRACE_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }
  // Sleeps until `changed` is notified, or for no reason: call it in a loop that looks at what it waits for.
  void wait(std::condition_variable& changed) MILLRACE_REQUIRES(this) {
    std::unique_lock held(mutex_, std::adopt_lock);
    changed.wait(held);
    held.release();
  }

 private:
  std::mutex mutex_;
};

class MILLRACE_THREAD_ATTRIBUTE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) MILLRACE_THREAD_ATTRIBUTE(acquire_capability(mutex)) : mutex_(mutex) {
    mutex.lock();
  }
  ~MutexLock() MILLRACE_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// Gives up a mutex that is held, and takes it again at the end of the block.
class MILLRACE_THREAD_ATTRIBUTE(scoped_lockable) MutexUnlock {
 public:
  explicit MutexUnlock(Mutex& mutex) MILLRACE_THREAD_ATTRIBUTE(release_capability(mutex)) : mutex_(mutex) {
    mutex.unlock();
  }
  ~MutexUnlock() MILLRACE_THREAD_ATTRIBUTE(release_capability()) { mutex_.lock(); }
  MutexUnlock(const MutexUnlock&) = delete;
  MutexUnlock& operator=(const MutexUnlock&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace millrace
