#include "millrace/core/event.h"

#include <gtest/gtest.h>

#include <utility>

#include "millrace/core/context.h"
#include "millrace/core/errors.h"

namespace millrace {
namespace {

TEST(Event, OfTheCpuIsAlwaysPast) {
  Executor executor(1);
  Context first(Device::cpu(), executor), second(Device::cpu(), executor);
  Event event(Device::cpu());
  EXPECT_TRUE(event.finished());
  int value = 0;
  const int one = 1;
  first.copy_async(&value, &one, sizeof value);
  first.record(event);
  EXPECT_TRUE(event.finished());
  second.wait_for(event);
  event.synchronize();
  EXPECT_EQ(value, 1);
  Event moved = std::move(event);
  EXPECT_TRUE(moved.finished());
}

TEST(Event, OfADeviceThatIsNotThereIsRefused) { EXPECT_THROW(Event(Device::cuda(9999)), DeviceError); }

}  // namespace
}  // namespace millrace
