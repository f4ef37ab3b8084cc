#include "millrace/core/cuda/handles.h"

#include <gtest/gtest.h>

#include "millrace/core/cuda/check.h"
#include "millrace/core/errors.h"
#include "tests/support/cuda.h"

namespace millrace::cuda {
namespace {

class CudaHandles : public test::CudaTest {};

int current_device() {
  int device = -1;
  MILLRACE_CUDA_CHECK(cudaGetDevice(&device));
  return device;
}

TEST_F(CudaHandles, GuardRestoresTheDeviceBefore) {
  const int before = current_device();
  for (const int device : cuda_status().usable) {
    {
      const DeviceGuard guard(device);
      EXPECT_EQ(current_device(), device);
    }
    EXPECT_EQ(current_device(), before);
  }
  EXPECT_THROW(DeviceGuard(9999), DeviceError);
  EXPECT_EQ(current_device(), before);
}

TEST_F(CudaHandles, EventsFollowTheirStreams) {
  const Stream first(0);
  Stream second(0);
  Event event(0);
  EXPECT_TRUE(event.finished());
  const std::vector<float> values(1'000'000, 3);
  Memory source = Memory::pinned(values.size() * sizeof(float)), result = Memory::pinned(source.bytes());
  std::memcpy(source.data(), values.data(), source.bytes());
  Memory memory(Device::cuda(0), source.bytes());
  MILLRACE_CUDA_CHECK(cudaMemcpyAsync(memory.data(), source.data(), source.bytes(), cudaMemcpyDefault, first.get()));
  event.record(first);
  event.wait_on(second);
  MILLRACE_CUDA_CHECK(cudaMemcpyAsync(result.data(), memory.data(), source.bytes(), cudaMemcpyDefault, second.get()));
  event.synchronize();
  EXPECT_TRUE(event.finished());
  second.synchronize();
  EXPECT_EQ(std::memcmp(result.data(), values.data(), source.bytes()), 0);
}

TEST_F(CudaHandles, MoveLeavesNothingBehind) {
  Stream stream(0);
  const cudaStream_t handle = stream.get();
  const Stream moved = std::move(stream);
  EXPECT_EQ(moved.get(), handle);
  moved.synchronize();
  Event event(0);
  Event other = std::move(event);
  other.record(moved);
  other.synchronize();
  EXPECT_TRUE(other.finished());
}

}  // namespace
}  // namespace millrace::cuda
