// A build without CUDA.
#include <gtest/gtest.h>

#include "millrace/core/context.h"
#include "millrace/core/cuda/backend.h"
#include "millrace/core/errors.h"

namespace millrace {
namespace {

TEST(WithoutCuda, SaysSo) {
  EXPECT_STREQ(cuda::toolkit_version(), "");
  EXPECT_TRUE(cuda_status().usable.empty());
  EXPECT_EQ(cuda_status().reason, "this build has no CUDA support");
  EXPECT_FALSE(cuda_status().worth_telling);
}

TEST(WithoutCuda, RefusesADevice) {
  Executor executor(1);
  try {
    Context context(Device::cuda(0), executor);
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_STREQ(error.what(), "this build has no CUDA support; configure with -DMILLRACE_CUDA=ON and a CUDA toolkit");
  }
  EXPECT_THROW(Memory(Device::cuda(0), 16), DeviceError);
}

TEST(WithoutCuda, MemoryIsPinnedForNoDevice) { EXPECT_THROW(Memory::pinned(Device::cuda(0), 64), DeviceError); }

}  // namespace
}  // namespace millrace
