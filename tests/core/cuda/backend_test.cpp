#include "millrace/core/cuda/backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "millrace/core/context.h"
#include "millrace/core/errors.h"
#include "millrace/core/event.h"
#include "tests/support/cuda.h"

namespace millrace {
namespace {

using test::CudaTest;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

TEST(CudaBackend, KnowsItsToolkit) { EXPECT_THAT(cuda::toolkit_version(), MatchesRegex("[0-9]+\\.[0-9]+")); }

TEST(CudaBackend, GivesAReasonExactlyWhenThereIsNoDevice) {
  const CudaStatus found = cuda_status();
  if (!found.usable.empty()) {
    EXPECT_EQ(found.reason, "");
    EXPECT_FALSE(found.worth_telling);
  } else {
    EXPECT_THAT(found.reason, AnyOf("no NVIDIA driver was found (libcuda.so.1)", StartsWith("the NVIDIA driver "),
                                    HasSubstr("cannot be used: it has compute capability")));
  }
}

TEST(CudaBackend, SaysOfEveryDeviceWhetherItCanBeUsed) {
  for (const int device : cuda_status().usable) EXPECT_EQ(cuda::unusable(Device::cuda(device)), "");
  EXPECT_NE(cuda::unusable(Device::cuda(9999)), "");
  EXPECT_NE(cuda::unusable(Device::cuda(-1)), "");
}

TEST(CudaBackend, NamesTheLibraryThatIsMissing) {
  EXPECT_THAT(cuda::missing_library({}), AnyOf("", StartsWith("matrix products on a GPU need cuBLASLt, but ")));
  EXPECT_THAT(cuda::missing_library({.convolutions = true}),
              AnyOf("", StartsWith("matrix products on a GPU need cuBLASLt, but "),
                    StartsWith("convolutions on a GPU need cuDNN")));
}

TEST(CudaBackend, RefusesADeviceThatIsNotThere) {
  Executor executor(1);
  try {
    Context context(Device::cuda(9999), executor);
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.message(), "cuda:9999 cannot be used: " + cuda::unusable(Device::cuda(9999)));
    EXPECT_EQ(error.hint(), "use device: auto or cpu");
  }
}

TEST(CudaBackend, MemoryOfADeviceThatIsNotThereIsRefused) {
  EXPECT_THROW(Memory(Device::cuda(9999), 16), DeviceError);
  EXPECT_THROW(Memory(Device::cuda(-1), 16), DeviceError);
}

TEST(CudaBackend, FailuresLeaveNoErrorBehind) {
  EXPECT_THROW(Memory(Device::cuda(9999), 16), DeviceError);
  const CudaStatus found = cuda_status();
  if (found.usable.empty()) GTEST_SKIP() << test::kNoGpu << found.reason;
  const Memory memory(Device::cuda(found.usable.front()), 16);
  EXPECT_NE(memory.data(), nullptr);
}

class CudaMemory : public CudaTest {};

TEST_F(CudaMemory, IsZeroAndAligned) {
  for (int round = 0; round < 3; ++round) {
    Memory memory(context().device(), 100'000);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.data()) % 256, 0u);
    EXPECT_EQ(download<uint8_t>(memory.data(), 100'000), std::vector<uint8_t>(100'000, 0));
    // The next round may get this memory again.
    const Memory ones = upload(std::vector<uint8_t>(100'000, 1));
    context().copy(memory.data(), ones.data(), memory.bytes());
    context().synchronize();
  }
}

TEST_F(CudaMemory, KeepsWhatWasCopied) {
  for (const size_t count : {1u, 1000u, 1'000'000u}) {
    const auto values = test::random_values<float>(count, "round trip");
    const Memory first = upload(values);
    Memory second(context().device(), first.bytes());
    context().copy(second.data(), first.data(), first.bytes());
    EXPECT_EQ(download<float>(second.data(), count), values) << count;
  }
}

TEST_F(CudaMemory, PageableSourcesMayBeReusedAtOnce) {
  for (const size_t count : {10u, 16'384u, 16'385u, 3'000'000u}) {
    Memory memory(context().device(), count * sizeof(float));
    std::vector<float> source(count, 1);
    context().copy(memory.data(), source.data(), memory.bytes());
    source.assign(count, 2);
    EXPECT_EQ(download<float>(memory.data(), count), std::vector<float>(count, 1)) << count;
  }
}

TEST_F(CudaMemory, PageableDestinationsAreFilledAtOnce) {
  const std::vector<int32_t> values(500'000, 7);
  const Memory memory = upload(values);
  std::vector<int32_t> destination(values.size());
  context().copy(destination.data(), memory.data(), memory.bytes());
  EXPECT_EQ(destination, values);
}

TEST_F(CudaMemory, PinnedMemoryIsHostMemory) {
  Memory pinned = Memory::pinned(context().device(), 4000);
  auto* values = static_cast<int32_t*>(pinned.data());
  EXPECT_EQ(std::accumulate(values, values + 1000, 0), 0);
  std::iota(values, values + 1000, 5);
  Memory memory(context().device(), pinned.bytes());
  context().copy(memory.data(), pinned.data(), pinned.bytes());
  context().synchronize();
  std::fill_n(values, 1000, 0);
  context().copy(pinned.data(), memory.data(), pinned.bytes());
  context().synchronize();
  EXPECT_EQ(values[0], 5);
  EXPECT_EQ(values[999], 1004);
}

TEST_F(CudaMemory, TwoContextsOrderTheirWorkByEvents) {
  Executor executor(1);
  Context copies(context().device(), executor);
  constexpr size_t kCount = 1'000'000;
  Memory host = Memory::pinned(context().device(), kCount * sizeof(int32_t));
  Memory result = Memory::pinned(context().device(), host.bytes());
  Memory memory(context().device(), host.bytes());
  auto* values = static_cast<int32_t*>(host.data());
  Event copied(context().device()), used(context().device());
  EXPECT_TRUE(copied.finished());
  for (int32_t round = 0; round < 20; ++round) {
    copied.synchronize();
    EXPECT_TRUE(copied.finished());
    std::fill_n(values, kCount, round);
    copies.wait_for(used);
    copies.copy_async(memory.data(), host.data(), host.bytes());
    copies.record(copied);
    context().wait_for(copied);
    context().copy_async(result.data(), memory.data(), memory.bytes());
    context().record(used);
    used.synchronize();
    const auto* seen = static_cast<const int32_t*>(result.data());
    ASSERT_EQ(std::count(seen, seen + kCount, round), static_cast<int64_t>(kCount));
  }
  Context cpu(Device::cpu(), executor);
  cpu.wait_for(used);
  EXPECT_TRUE(used.finished());
}

TEST_F(CudaMemory, FillsWithZeros) {
  const Memory memory = upload(std::vector<int32_t>(100, -1));
  context().fill_zero(static_cast<int32_t*>(memory.data()) + 10, 20 * sizeof(int32_t));
  std::vector<int32_t> expected(100, -1);
  std::fill_n(expected.begin() + 10, 20, 0);
  EXPECT_EQ(download<int32_t>(memory.data(), 100), expected);
}

TEST_F(CudaMemory, SaysHowMuchWasWanted) {
  try {
    Memory memory(context().device(), size_t{1} << 50);
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(),
                StartsWith("out of memory: 1125899906842624 bytes on " + context().device().text() + ", where "));
    EXPECT_EQ(error.hint(), "use a smaller batch_size, or another device");
  }
  EXPECT_NE(Memory(context().device(), 16).data(), nullptr);
}

TEST_F(CudaMemory, ServesContextsOfSeveralThreads) {
  std::vector<std::thread> threads;
  std::vector<std::vector<int32_t>> results(4);
  for (int32_t t = 0; t < 4; ++t) {
    threads.emplace_back([t, &results, device = context().device()] {
      Executor executor(1);
      Context own(device, executor);
      const std::vector<int32_t> values(10'000, t);
      Memory memory(own.device(), values.size() * sizeof(int32_t));
      for (int round = 0; round < 20; ++round) own.copy(memory.data(), values.data(), memory.bytes());
      results[static_cast<size_t>(t)].resize(values.size());
      own.copy(results[static_cast<size_t>(t)].data(), memory.data(), memory.bytes());
      own.synchronize();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int32_t t = 0; t < 4; ++t) EXPECT_EQ(results[static_cast<size_t>(t)], std::vector<int32_t>(10'000, t));
}

}  // namespace
}  // namespace millrace
