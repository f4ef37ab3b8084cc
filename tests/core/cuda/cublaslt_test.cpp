#include "millrace/core/cuda/cublaslt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "millrace/core/cuda/kernels.h"
#include "millrace/core/cuda/state.h"
#include "millrace/core/errors.h"
#include "tests/support/cuda.h"

namespace millrace::cuda {
namespace {

class CudaCublasLt : public test::CudaTest {};

// Also where there is no GPU: every function is looked up before the first call.
TEST(CudaCublasLtLibrary, OpensOrSaysWhatIsMissing) {
  try {
    const CublasLt library;
    EXPECT_NE(library.handle(), nullptr);
  } catch (const DeviceError& error) {
    EXPECT_THAT(
        error.what(),
        ::testing::AnyOf(::testing::StartsWith("cuBLASLt: create(&handle) at core/cuda/cublaslt.cpp:"),
                         ::testing::StartsWith("matrix products on a GPU need cuBLASLt, but libcublasLt.so.1")));
  }
}

TEST_F(CudaCublasLt, IsOpenedOnceForAContext) {
  const CublasLt& library = context().cuda().cublaslt();
  EXPECT_EQ(&context().cuda().cublaslt(), &library);
  EXPECT_NE(library.handle(), nullptr);
  EXPECT_GE(library.get_version(), 120'000u);
  EXPECT_THAT(library.library().path(), ::testing::HasSubstr("cublasLt"));
}

TEST_F(CudaCublasLt, FailuresSayWhatFailedAndWhichVersion) {
  const CublasLt& library = context().cuda().cublaslt();
  try {
    MILLRACE_CUBLASLT_CHECK(library, CUBLAS_STATUS_INVALID_VALUE);
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(),
                ::testing::StartsWith("cuBLASLt: CUBLAS_STATUS_INVALID_VALUE at core/cuda/cublaslt_test.cpp:"));
    EXPECT_THAT(error.hint(), ::testing::HasSubstr(" is version "));
  }
}

TEST_F(CudaCublasLt, OneWorkspaceIsSharedAndGrows) {
  State& state = context().cuda();
  const auto first = state.workspace();
  EXPECT_EQ(state.workspace(), first);
  EXPECT_EQ(first->bytes(), kWorkspaceBytes);
  const auto larger = state.workspace(kWorkspaceBytes + 1);
  EXPECT_EQ(larger->bytes(), kWorkspaceBytes + 1);
  EXPECT_EQ(state.workspace(), larger);
  EXPECT_EQ(first->bytes(), kWorkspaceBytes) << "its holder keeps it";
}

}  // namespace
}  // namespace millrace::cuda
