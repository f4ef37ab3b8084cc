#include "millrace/cli/process/signals.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <future>

namespace millrace::cli {
namespace {

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
        const auto guard = signals.while_running([] { ::kill(::getpid(), SIGTERM); });
        ::kill(::getpid(), SIGINT);
        for (;;) ::pause();
      },
      testing::ExitedWithCode(143), "");
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
          ::kill(::getpid(), SIGINT);
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

TEST(SignalsDeathTest, IgnoredSignalsStayIgnored) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        std::signal(SIGINT, SIG_IGN);
        std::signal(SIGHUP, SIG_IGN);
        SignalWatcher signals;
        ::kill(::getpid(), SIGINT);
        ::kill(::getpid(), SIGHUP);
        ::kill(::getpid(), SIGPIPE);
        ::kill(::getpid(), SIGXFSZ);
        ::kill(::getpid(), SIGTERM);
        for (;;) ::pause();
      },
      testing::ExitedWithCode(143), "");
}

TEST(SignalsTest, EndsWithoutASignal) {
  const SignalWatcher signals;
  EXPECT_EQ(signals.received(), 0);
}

}  // namespace
}  // namespace millrace::cli
