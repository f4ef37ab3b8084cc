#include "millrace/core/context.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <utility>
#include <vector>

#include "millrace/core/errors.h"

namespace millrace {
namespace {

TEST(Context, OfTheCpuCopiesAndFills) {
  Executor executor(1);
  Context context(Device::cpu(), executor);
  EXPECT_TRUE(context.device().is_cpu());
  EXPECT_EQ(&context.executor(), &executor);
  const std::vector<int32_t> source = {1, 2, 3, 4};
  std::vector<int32_t> destination(4, 9);
  context.copy(destination.data(), source.data(), 3 * sizeof(int32_t));
  EXPECT_EQ(destination, (std::vector<int32_t>{1, 2, 3, 9}));
  context.fill_zero(destination.data() + 1, 2 * sizeof(int32_t));
  EXPECT_EQ(destination, (std::vector<int32_t>{1, 0, 0, 9}));
  context.synchronize();
}

TEST(Context, TakesNullForNoBytes) {
  Executor executor(1);
  Context context(Device::cpu(), executor);
  context.copy(nullptr, nullptr, 0);
  context.copy_async(nullptr, nullptr, 0);
  context.fill_zero(nullptr, 0);
}

// The bytes of this process that are in memory now.
int64_t resident() {
  int64_t all = 0, here = 0;
  std::ifstream("/proc/self/statm") >> all >> here;
  return here * ::sysconf(_SC_PAGESIZE);
}

TEST(Memory, WhatNobodyTouchesTakesNoRoom) {
  constexpr size_t kBytes = size_t{1} << 30;
  const int64_t before = resident();
  Memory memory(Device::cpu(), kBytes);
  EXPECT_LT(resident() - before, int64_t{64} << 20);
  auto* bytes = static_cast<unsigned char*>(memory.data());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes) % 64, 0u);
  for (size_t i = 0; i < kBytes; i += kBytes / 7) {
    EXPECT_EQ(bytes[i], 0) << i;
    bytes[i] = 1;
  }
  bytes[kBytes - 1] = 1;
  Memory moved = std::move(memory);
  EXPECT_EQ(moved.data(), bytes);
  moved = Memory();
  EXPECT_EQ(moved.bytes(), 0u);
}

TEST(Memory, IsZerosOfAnySize) {
  for (const size_t bytes : {size_t{1}, size_t{100}, (size_t{64} << 20) - 1, size_t{64} << 20}) {
    const Memory memory(Device::cpu(), bytes);
    const auto* data = static_cast<const unsigned char*>(memory.data());
    EXPECT_TRUE(std::all_of(data, data + bytes, [](unsigned char byte) { return byte == 0; })) << bytes;
  }
  EXPECT_THROW(Memory(Device::cpu(), SIZE_MAX), InternalError);
  EXPECT_THROW(Memory(Device::cpu(), SIZE_MAX / 2), InternalError);
}

TEST(Context, RefusesADeviceThatIsNotThere) {
  Executor executor(1);
  EXPECT_THROW(Context(Device::cuda(9999), executor), DeviceError);
}

}  // namespace
}  // namespace millrace
