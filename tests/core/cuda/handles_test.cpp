#include "millrace/core/cuda/handles.h"

#include <gtest/gtest.h>

#include <chrono>
#include <new>
#include <thread>
#include <vector>

#include "millrace/core/cuda/check.h"
#include "millrace/core/cuda/state.h"
#include "millrace/core/errors.h"
#include "tests/support/cuda.h"

#if defined(MILLRACE_CUDA_EMULATED)
#include "tests/emulated_gpu/emulated_gpu.h"
#endif

namespace millrace::cuda {
namespace {

class CudaHandles : public test::CudaTest {};

int current_device() {
  int device = -1;
  MILLRACE_CUDA_CHECK(cudaGetDevice(&device));
  return device;
}

TEST_F(CudaHandles, GuardRestoresADeviceInUse) {
  const int before = current_device();
  MILLRACE_CUDA_CHECK(cudaFree(nullptr));  // opens the context of `before`
  ASSERT_TRUE(has_context(before));
  for (const int device : cuda_status().usable) {
    {
      const DeviceGuard guard(device);
      EXPECT_EQ(current_device(), device);
    }
    EXPECT_EQ(current_device(), before);
  }
  EXPECT_THROW(DeviceGuard(9999), DeviceError);
  EXPECT_EQ(current_device(), before);
  { const DeviceGuard ignored(9999, std::nothrow); }
  EXPECT_EQ(current_device(), before);
  EXPECT_FALSE(has_context(9999));
}

// Not a CudaHandles, which would use the first device.
TEST(CudaDevices, AUseOfOneOpensNoContextOnAnother) {
  const std::vector<int> usable = cuda_status().usable;
  if (usable.size() < 2) GTEST_SKIP() << "needs two GPUs";
  std::vector<bool> before, after;
  for (const int device : usable) before.push_back(has_context(device));
  before.back() = true;
  const auto use = [device = Device::cuda(usable.back())] {
    Executor executor(1);
    Context context(device, executor);
    const Memory pinned = Memory::pinned(device, 4096), memory(device, 4096);
    context.copy(memory.data(), pinned.data(), 4096);
    context.synchronize();
    Event event(device.index);
    event.record(context.cuda().whole_stream());
    event.synchronize();
  };
  use();
  std::thread(use).join();
  for (const int device : usable) after.push_back(has_context(device));
  EXPECT_EQ(after, before);
}

TEST_F(CudaHandles, EventsFollowTheirStreams) {
  const Device device = context().device();
  const Stream first(device.index);
  Stream second(device.index);
  Event event(device.index);
  EXPECT_TRUE(event.finished());
  const std::vector<float> values(1'000'000, 3);
  Memory source = Memory::pinned(device, values.size() * sizeof(float)),
         result = Memory::pinned(device, source.bytes());
  std::memcpy(source.data(), values.data(), source.bytes());
  Memory memory(device, source.bytes());
  MILLRACE_CUDA_CHECK(cudaMemcpyAsync(memory.data(), source.data(), source.bytes(), cudaMemcpyDefault, first.get()));
  event.record(first);
  event.wait_on(second);
  MILLRACE_CUDA_CHECK(cudaMemcpyAsync(result.data(), memory.data(), source.bytes(), cudaMemcpyDefault, second.get()));
  event.synchronize();
  EXPECT_TRUE(event.finished());
  second.synchronize();
  EXPECT_EQ(std::memcmp(result.data(), values.data(), source.bytes()), 0);
}

#if defined(MILLRACE_CUDA_EMULATED)
TEST_F(CudaHandles, WhoWaitsLongSleeps) {
  const int device = context().device().index;
  const Stream stream(device);
  Event event(device);
  const auto take_long = [&] {
    const auto done = std::chrono::steady_clock::now() + std::chrono::milliseconds(5);
    emulation::enqueue(stream.get(), [done] {
      while (std::chrono::steady_clock::now() < done) continue;
    });
  };
  const uint64_t spins = emulation::counters().host_spins;
  take_long();
  event.record(stream);
  event.synchronize();
  EXPECT_TRUE(event.finished());
  take_long();
  stream.synchronize();
  EXPECT_EQ(emulation::counters().host_spins, spins);
}
#endif

}  // namespace
}  // namespace millrace::cuda
