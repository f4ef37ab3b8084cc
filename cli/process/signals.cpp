#include "millrace/cli/process/signals.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <exception>
#include <utility>

#include "millrace/cli/process/exit_code.h"
#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace::cli {

namespace {

std::atomic<int> stop_request_number{-1};

Descriptor checked(int number, const char* what) {
  if (number < 0) throw InternalError(cat("cannot watch for signals: ", what, ": ", errno_text(errno)));
  return Descriptor(number);
}

// Makes an eventfd readable.
void tell(const Descriptor& event) {
  const uint64_t one = 1;
  while (::write(event.get(), &one, sizeof one) < 0 && errno == EINTR) {
  }
}

// The signals to handle: not those that the caller of the program ignores (nohup, background jobs).
sigset_t wanted_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) {
    struct sigaction now {};
    if (sigaction(number, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) sigaddset(&set, number);
  }
  return set;
}

// Ends the program as the signal would by default.
[[noreturn]] void end_by(int number) {
  std::signal(number, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, number);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  std::raise(number);
  ::_exit(exit_code_of_signal(number));
}

}  // namespace

SignalWatcher::SignalWatcher() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  const sigset_t set = wanted_signals();
  signals_ = checked(::signalfd(-1, &set, SFD_CLOEXEC), "signalfd");
  end_ = checked(::eventfd(0, EFD_CLOEXEC), "eventfd");
  request_ = checked(::eventfd(0, EFD_CLOEXEC), "eventfd");
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &set, &before);
  try {
    thread_ = std::thread([this] { watch(); });
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    std::rethrow_exception(as_error(std::current_exception(), "cannot start a thread"));
  }
  stop_request_number.store(request_.get());
}

SignalWatcher::~SignalWatcher() {
  tell(end_);
  thread_.join();
  stop_request_number.store(-1);
}

int SignalWatcher::stop_request() { return stop_request_number.load(); }

SignalWatcher::Guard SignalWatcher::while_running(std::function<void()> stop) {
  set_stop(std::move(stop));
  return {this, [](SignalWatcher* watcher) { watcher->set_stop(nullptr); }};
}

SignalWatcher::Guard SignalWatcher::while_asked(std::function<void()> ask, int number) {
  const MutexLock lock(mutex_);
  asks_.emplace_back(number, std::move(ask));
  return {this, [](SignalWatcher* watcher) {
            const MutexLock ends(watcher->mutex_);
            watcher->asks_.pop_back();
          }};
}

void SignalWatcher::set_stop(std::function<void()> stop) {
  std::thread stopper;
  {
    const MutexLock lock(mutex_);
    std::swap(stop_, stop);
    std::swap(stopper_, stopper);
  }
  if (stopper.joinable()) stopper.join();
}

void SignalWatcher::watch() {
  for (;;) {
    pollfd wait[] = {{signals_.get(), POLLIN, 0}, {end_.get(), POLLIN, 0}};
    if (::poll(wait, 2, -1) < 0) {
      if (errno == EINTR) continue;
      return;
    }
    if (wait[1].revents != 0) return;
    signalfd_siginfo info{};
    if (::read(signals_.get(), &info, sizeof info) != sizeof info) continue;
    const auto number = static_cast<int>(info.ssi_signo);
    if (!take_question(number)) take(number);
  }
}

// Returns whether the signal only asks for something.
bool SignalWatcher::take_question(int number) {
  const MutexLock lock(mutex_);
  const auto newest = std::find_if(asks_.rbegin(), asks_.rend(), [&](const auto& one) { return one.first == number; });
  if (newest == asks_.rend() && number == SIGUSR1) end_by(number);
  if (newest == asks_.rend()) return false;
  newest->second();
  return true;
}

void SignalWatcher::take(int number) {
  const MutexLock lock(mutex_);
  int before = 0;
  const bool first = received_.compare_exchange_strong(before, number);
  if (first) first_ = Clock::now();
  if (stop_ && !first && (number == SIGHUP || Clock::now() - first_ < kSameSignal)) return;
  if (!stop_ || !first) ::_exit(exit_code_of_signal(number));
  tell(request_);
  try {
    stopper_ = std::thread(stop_);
  } catch (...) {  // there is no thread or no memory left
    stop_();
  }
}

}  // namespace millrace::cli
