#include "millrace/core/cuda/cudnn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "millrace/core/cuda/state.h"
#include "millrace/core/errors.h"
#include "tests/support/cuda.h"

namespace millrace::cuda {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Also where there is no GPU: every function is looked up before the first call.
TEST(CudaCudnnLibrary, OpensOrSaysWhatIsMissing) {
  try {
    const Cudnn library;
    EXPECT_GE(library.get_version(), 90'000u);
    EXPECT_THAT(library.library().path(), HasSubstr("libcudnn.so.9"));
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), StartsWith("convolutions on a GPU need cuDNN, but libcudnn.so.9 was not found"));
  }
}

class CudaCudnnDescriptors : public ::testing::Test {
 protected:
  void SetUp() override {
    if (test::kEmulated) GTEST_SKIP() << "asks cuDNN itself";
    try {
      library_.emplace();
    } catch (const DeviceError& error) {
      GTEST_SKIP() << "needs cuDNN: " << error.what();
    }
  }
  std::optional<Cudnn> library_;
};

TEST_F(CudaCudnnDescriptors, DescriptorsKeepWhatTheyAreGiven) {
  CudnnDescriptor tensor(*library_, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, {int64_t{7}});
  tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, {CUDNN_DATA_FLOAT});
  tensor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, {int64_t{16}});
  tensor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, {int64_t{2}, int64_t{3}, int64_t{4}});
  tensor.set(CUDNN_ATTR_TENSOR_STRIDES, {int64_t{12}, int64_t{4}, int64_t{1}});
  tensor.finalize();
  EXPECT_EQ(tensor.value<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID), 7);
  EXPECT_EQ(tensor.list<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS), (std::vector<int64_t>{2, 3, 4}));
}

TEST_F(CudaCudnnDescriptors, FailuresSayWhatFailedWhyAndWhichVersion) {
  CudnnDescriptor tensor(*library_, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  EXPECT_FALSE(tensor.try_finalize(true));
  EXPECT_THROW(static_cast<void>(tensor.try_finalize()), DeviceError);
  try {
    tensor.finalize();
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), StartsWith("cuDNN: library_->finalize(get()) at core/cuda/cudnn.cpp:"));
    EXPECT_THAT(error.what(), HasSubstr(" failed: CUDNN_STATUS_BAD_PARAM"));
    EXPECT_THAT(error.hint(), HasSubstr(" is version 9"));
  }
}

class CudaCudnn : public test::CudaTest {};

TEST_F(CudaCudnn, IsOpenedOnceForAContext) {
  State& state = context().cuda();
  const Cudnn& library = state.cudnn();
  EXPECT_EQ(&state.cudnn(), &library);
  EXPECT_NE(state.cudnn_handle(), nullptr);
  EXPECT_EQ(state.cudnn_handle(), state.cudnn_handle());
}

}  // namespace
}  // namespace millrace::cuda
