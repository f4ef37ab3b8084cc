// SignalWatcher: SIGINT, SIGTERM and SIGHUP end the work in an orderly way; a second one ends the program at once.
// Signals within kSameSignal of the first one belong to it: timeout(1) sends its signal to the program and to its
// group, and a wrapper may hand on what the terminal sends, too. A second SIGHUP never ends the program, because a
// terminal that closes may send several. SIGUSR1 asks for something and ends nothing, if the work takes it.
//
//   SignalWatcher signals;                                        // before any other thread
//   { auto guard = signals.while_running([&] { trainer.stop(); }); trainer.run(); }
//   if (signals.received() != 0) ...
//
// A thread of its own takes the signals, so `stop` runs as ordinary code, on another thread: a second signal is taken
// even if `stop` does not return. Signals that were ignored when the program began stay ignored. SIGPIPE and SIGXFSZ
// are ignored from the constructor on, so a write that would raise them fails instead. A process has at most one
// SignalWatcher.
#pragma once

#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "millrace/core/clock.h"
#include "millrace/core/descriptor.h"
#include "millrace/core/threads/mutex.h"

namespace millrace::cli {

class SignalWatcher {
 public:
  static constexpr std::chrono::milliseconds kSameSignal{500};

  // Blocks the signals in this thread and in those that it starts later.
  SignalWatcher();
  ~SignalWatcher();
  SignalWatcher(const SignalWatcher&) = delete;
  SignalWatcher& operator=(const SignalWatcher&) = delete;

  using Guard = std::unique_ptr<SignalWatcher, void (*)(SignalWatcher*)>;
  // While the guard lives, the first signal calls `stop`, from another thread; the guard's end waits for the call.
  // Without a guard, a signal ends the program.
  [[nodiscard]] Guard while_running(std::function<void()> stop);
  // While the guard lives, SIGUSR1, or SIGHUP if that is the `number`, calls `ask`, each time that it comes, and ends
  // nothing; the guard's end waits for the call. If there are several guards, the newest one counts, and ends first.
  // Without a guard, SIGUSR1 ends the program, as it ends every program. REQUIRES: `ask` throws nothing and returns at
  // once, because no other signal is taken meanwhile.
  [[nodiscard]] Guard while_asked(std::function<void()> ask, int number = SIGUSR1);
  // The first signal that came and was to end the work, or 0.
  int received() const { return received_.load(); }
  // For poll(): becomes readable when the first signal comes. Nobody reads from it. -1 if there is no watcher.
  static int stop_request();

 private:
  void set_stop(std::function<void()> stop);
  void watch();
  void take(int number);
  bool take_question(int number);

  Descriptor signals_, end_, request_;
  std::atomic<int> received_{0};
  Mutex mutex_;
  Clock::time_point first_ MILLRACE_GUARDED_BY(mutex_);
  std::function<void()> stop_ MILLRACE_GUARDED_BY(mutex_);
  std::thread stopper_ MILLRACE_GUARDED_BY(mutex_);                                      // calls stop_
  std::vector<std::pair<int, std::function<void()>>> asks_ MILLRACE_GUARDED_BY(mutex_);  // by signal
  std::thread thread_;
};

}  // namespace millrace::cli
