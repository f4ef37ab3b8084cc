#include "millrace/core/threads/stop_gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace millrace {
namespace {

TEST(StopGate, StopsWhileItIsOpen) {
  int stops = 0;
  StopGate gate;
  gate.stop();
  gate.open([&] { ++stops; });
  gate.stop();
  gate.stop();
  gate.close();
  gate.stop();
  EXPECT_EQ(stops, 2);
  gate.open([&] { stops += 10; });
  gate.stop();
  EXPECT_EQ(stops, 12);
}

TEST(StopGate, StopsAgainFromInside) {
  int stops = 0;
  StopGate gate;
  gate.open([&] {
    if (++stops < 3) gate.stop();
  });
  gate.stop();
  gate.close();
  EXPECT_EQ(stops, 3);
}

TEST(StopGate, ClosesWhenNoThreadIsInside) {
  std::atomic<bool> inside{false}, left{false};
  StopGate gate;
  gate.open([&] {
    inside.store(true);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    left.store(true);
  });
  std::thread other([&] { gate.stop(); });
  while (!inside.load()) std::this_thread::yield();
  gate.close();
  EXPECT_TRUE(left.load());
  other.join();
}

}  // namespace
}  // namespace millrace
