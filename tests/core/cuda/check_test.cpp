#include "millrace/core/cuda/check.h"

#include <gtest/gtest.h>

#include "millrace/core/context.h"
#include "millrace/core/errors.h"
#include "tests/support/cuda.h"

namespace millrace::cuda {
namespace {

std::string text_of(cudaError_t status) {
  try {
    check(status, {"cudaDo(it)", "/home/builder/source/core/cuda/backend.cpp", 12});
    return "";
  } catch (const DeviceError& error) {
    return error.what();
  }
}

TEST(CudaCheck, PassesSuccess) { EXPECT_EQ(text_of(cudaSuccess), ""); }

TEST(CudaCheck, SaysWhatFailedWhereAndWhatToDo) {
  EXPECT_EQ(text_of(cudaErrorMemoryAllocation),
            "cudaDo(it) at core/cuda/backend.cpp:12 failed: out of memory (cudaErrorMemoryAllocation); use a smaller "
            "batch_size, or another device");
  EXPECT_EQ(text_of(cudaErrorNoKernelImageForDevice),
            "cudaDo(it) at core/cuda/backend.cpp:12 failed: no kernel image is available for execution on the device "
            "(cudaErrorNoKernelImageForDevice); configure with CMAKE_CUDA_ARCHITECTURES set to this GPU's compute "
            "capability");
  EXPECT_EQ(
      text_of(cudaErrorInvalidValue),
      "cudaDo(it) at core/cuda/backend.cpp:12 failed: invalid argument (cudaErrorInvalidValue); device: cpu trains "
      "without the GPU");
}

TEST(CudaCheck, NamesItsOwnCallSite) {
  const int line = __LINE__ + 2;
  try {
    MILLRACE_CUDA_CHECK(cudaErrorInvalidValue);
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.message(), "cudaErrorInvalidValue at core/cuda/check_test.cpp:" + std::to_string(line) +
                                   " failed: invalid argument (cudaErrorInvalidValue)");
  }
}

TEST(CudaCheck, LetsAnExpectedFailurePass) {
  const auto call = [](cudaError_t status) { return status; };
  EXPECT_TRUE(MILLRACE_CUDA_SUCCEEDED(call(cudaSuccess), cudaErrorNotReady));
  EXPECT_FALSE(MILLRACE_CUDA_SUCCEEDED(call(cudaErrorNotReady), cudaErrorNotReady));
  try {
    static_cast<void>(MILLRACE_CUDA_SUCCEEDED(call(cudaErrorInvalidValue), cudaErrorNotReady));
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_TRUE(error.message().starts_with("call(cudaErrorInvalidValue) at core/cuda/check_test.cpp:"))
        << error.message();
  }
}

TEST(CudaCheck, ClearsTheThreadsLastError) {
  const CudaStatus found = cuda_status();
  if (found.usable.empty()) GTEST_SKIP() << test::kNoGpu << found.reason;
  const cudaError_t status = cudaSetDevice(9999);
  ASSERT_NE(status, cudaSuccess);
  EXPECT_THROW(check(status, {"", "", 0}), DeviceError);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
}

}  // namespace
}  // namespace millrace::cuda
