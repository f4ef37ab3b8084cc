#include "millrace/cli/process/signals.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <future>
#include <new>
#include <thread>

namespace millrace::cli {
namespace {

// One that does not belong to the signal before.
void send_another(int signal) {
  std::this_thread::sleep_for(SignalWatcher::kSameSignal + std::chrono::milliseconds(100));
  ::kill(::getpid(), signal);
}

TEST(SignalsDeathTest, FirstSignalStopsTheWork) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        SignalWatcher signals;
        std::promise<void> stopped;
        const auto guard = signals.while_running([&] { stopped.set_value(); });
        ::kill(::getpid(), SIGINT);
        stopped.get_future().wait();
        ::_exit(signals.received() == SIGINT ? 7 : 8);
      },
      testing::ExitedWithCode(7), "");
}

TEST(SignalsDeathTest, SecondSignalEndsTheProgram) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        SignalWatcher signals;
        const auto guard = signals.while_running([] { send_another(SIGTERM); });
        ::kill(::getpid(), SIGINT);
        for (;;) ::pause();
      },
      testing::ExitedWithCode(143), "");
}

// As timeout(1) sends it.
TEST(SignalsDeathTest, TheSameSignalTwiceStopsTheWorkOnce) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        SignalWatcher signals;
        std::promise<void> stopped;
        const auto guard = signals.while_running([&] { stopped.set_value(); });
        ::kill(::getpid(), SIGTERM);
        stopped.get_future().wait();
        ::kill(::getpid(), SIGTERM);
        send_another(SIGINT);
        for (;;) ::pause();
      },
      testing::ExitedWithCode(130), "");
}

// As a function of a plug-in may not.
TEST(SignalsDeathTest, SecondSignalEndsTheProgramEvenIfStopDoesNotReturn) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        SignalWatcher signals;
        std::promise<void> stopping;
        const auto guard = signals.while_running([&] {
          stopping.set_value();
          for (;;) ::pause();
        });
        ::kill(::getpid(), SIGINT);
        stopping.get_future().wait();
        send_another(SIGTERM);
        for (;;) ::pause();
      },
      testing::ExitedWithCode(143), "");
}

// A function that cannot be copied any more once there is no memory.
struct NeedsMemory {
  explicit NeedsMemory(std::promise<void>& told) : stopped(&told) {}
  NeedsMemory(const NeedsMemory& other) : stopped(other.stopped) {
    if (none_left) throw std::bad_alloc();
  }
  void operator()() const { stopped->set_value(); }

  static inline std::atomic<bool> none_left{false};
  std::promise<void>* stopped;
};

TEST(SignalsDeathTest, TheWorkStopsEvenIfNoThreadCanBeMade) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        SignalWatcher signals;
        std::promise<void> stopped;
        const auto guard = signals.while_running(NeedsMemory(stopped));
        NeedsMemory::none_left = true;
        ::kill(::getpid(), SIGINT);
        stopped.get_future().wait();
        ::_exit(7);
      },
      testing::ExitedWithCode(7), "");
}

// Whether the end of the guard waits until `stop` has returned.
bool guard_waits() {
  SignalWatcher signals;
  std::promise<void> stopping;
  std::atomic<bool> goes_on{false}, stopped{false};
  std::thread other;
  {
    const auto guard = signals.while_running([&] {
      stopping.set_value();
      while (!goes_on) std::this_thread::yield();
      stopped = true;
    });
    ::kill(::getpid(), SIGINT);
    stopping.get_future().wait();
    other = std::thread([&] { goes_on = true; });
  }
  const bool waited = stopped;
  other.join();
  return waited;
}

TEST(SignalsDeathTest, TheGuardWaitsForTheStop) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(::_exit(guard_waits() ? 7 : 8), testing::ExitedWithCode(7), "");
}

bool signal_makes_request_readable() {
  SignalWatcher signals;
  const auto guard = signals.while_running([] {});
  pollfd stop{SignalWatcher::stop_request(), POLLIN, 0};
  if (::poll(&stop, 1, 0) != 0) return false;
  ::kill(::getpid(), SIGINT);
  ::poll(&stop, 1, -1);
  return stop.revents == POLLIN;
}

TEST(SignalsDeathTest, ASignalMakesTheRequestReadable) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(::_exit(signal_makes_request_readable() ? 7 : 8), testing::ExitedWithCode(7), "");
}

// A terminal that closes sends it from the shell and from the kernel.
TEST(SignalsDeathTest, HangingUpTwiceStopsTheWorkOnce) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        SignalWatcher signals;
        std::promise<void> stopped;
        {
          const auto guard = signals.while_running([&] {
            ::kill(::getpid(), SIGHUP);
            stopped.set_value();
          });
          ::kill(::getpid(), SIGHUP);
          stopped.get_future().wait();
          // Signals are taken in the order of their numbers: SIGINT only behind SIGHUP.
          send_another(SIGINT);
          for (;;) ::pause();
        }
      },
      testing::ExitedWithCode(130), "");
}

TEST(SignalsDeathTest, WithoutWorkTheFirstSignalEndsTheProgram) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        SignalWatcher signals;
        {
          const auto guard = signals.while_running([] {});
        }
        ::kill(::getpid(), SIGINT);
        for (;;) ::pause();
      },
      testing::ExitedWithCode(130), "");
}

// Each time that it comes, and to whom asked last.
bool asks_as_often_as_it_is_asked() {
  SignalWatcher signals;
  std::atomic<int> outer{0}, inner{0};
  const auto wait_for = [](const std::atomic<int>& count, int wanted) {
    while (count != wanted) std::this_thread::yield();
  };
  const auto running = signals.while_running([] { ::_exit(9); });
  const auto asked = signals.while_asked([&] { ++outer; });
  {
    const auto newer = signals.while_asked([&] { ++inner; });
    for (int i = 1; i <= 3; ++i) {
      ::kill(::getpid(), SIGUSR1);
      wait_for(inner, i);
    }
  }
  ::kill(::getpid(), SIGUSR1);
  wait_for(outer, 1);
  return inner == 3 && signals.received() == 0;
}

TEST(SignalsDeathTest, AQuestionEndsNothing) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(::_exit(asks_as_often_as_it_is_asked() ? 7 : 8), testing::ExitedWithCode(7), "");
}

TEST(SignalsDeathTest, AQuestionThatNobodyTakesEndsTheProgram) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        SignalWatcher signals;
        const auto guard = signals.while_running([] {});
        {
          const auto asked = signals.while_asked([] {});
        }
        ::kill(::getpid(), SIGUSR1);
        for (;;) ::pause();
      },
      testing::KilledBySignal(SIGUSR1), "");
}

TEST(SignalsDeathTest, IgnoredSignalsStayIgnored) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        std::signal(SIGINT, SIG_IGN);
        std::signal(SIGHUP, SIG_IGN);
        std::signal(SIGUSR1, SIG_IGN);
        SignalWatcher signals;
        ::kill(::getpid(), SIGINT);
        ::kill(::getpid(), SIGHUP);
        ::kill(::getpid(), SIGUSR1);
        ::kill(::getpid(), SIGPIPE);
        ::kill(::getpid(), SIGXFSZ);
        ::kill(::getpid(), SIGTERM);
        for (;;) ::pause();
      },
      testing::ExitedWithCode(143), "");
}

TEST(SignalsTest, EndsWithoutASignal) {
  {
    const SignalWatcher signals;
    EXPECT_EQ(signals.received(), 0);
    EXPECT_GE(SignalWatcher::stop_request(), 0);
  }
  EXPECT_EQ(SignalWatcher::stop_request(), -1);
}

}  // namespace
}  // namespace millrace::cli
