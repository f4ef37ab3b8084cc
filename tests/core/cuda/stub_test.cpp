// A build without CUDA.
#include <gtest/gtest.h>

#include "millrace/core/context.h"
#include "millrace/core/errors.h"

namespace millrace {
namespace {

TEST(WithoutCuda, SaysSo) {
  EXPECT_FALSE(cuda::build_info().built);
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

TEST(WithoutCuda, PinnedMemoryIsHostMemory) {
  const Memory memory = Memory::pinned(64);
  EXPECT_TRUE(memory.device().is_cpu());
  EXPECT_EQ(static_cast<const char*>(memory.data())[63], 0);
}

}  // namespace
}  // namespace millrace
