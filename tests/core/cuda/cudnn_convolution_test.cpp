// Plans for GPUs that are only described, so that they are made where there is none. What they compute is tested on a
// device, in convolution_test.cpp.
#include "millrace/core/cuda/cudnn_convolution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "millrace/core/cuda/kernels.h"
#include "millrace/core/cuda/state.h"
#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "tests/core/kernels/images/convolution_cases.h"
#include "tests/support/cuda.h"

namespace millrace::cuda {
namespace {

using Pass = ConvolutionPass;

struct Gpu {
  std::string name;
  int version, processors, shared_bytes, threads_a_processor;
};

// As the library itself writes the properties of a device.
std::string properties(const Gpu& gpu) {
  return cat(R"({"cudaDeviceId":0,"deviceId":0,"deviceVer":)", gpu.version,
             R"(,"driverVer":13000,"maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],)",
             R"("regsPerBlock":65536,"multiProcessorCount":)", gpu.processors,
             R"(,"warpSize":32,"maxSharedMemoryPerBlock":49152,"maxSharedMemoryPerBlockOptin":)", gpu.shared_bytes,
             R"(,"reservedSharedMemoryPerBlock":1024,"maxRegistersPerSM":65536,"maxCtasPerSM":16,)",
             R"("maxThreadsPerBlock":1024,"maxThreadsPerSM":)", gpu.threads_a_processor,
             R"(,"pciDeviceId":0,"isTccDriver":0,"supportCoopLaunch":1,"smClockRateKHz":1500000,)",
             R"("memClockRateKHz":1500000,"l2CacheSize":4194304,"deviceName":")", gpu.name,
             R"(","totalGlobalMem":17179869184})");
}

// Whether any pass of some convolutions has an engine that rounds, which must come before the one of full width.
bool takes_tensor_cores(const Cudnn& library, CudnnTarget target) {
  ConvolutionSpec large = millrace::testing::square_images(256, 64, 56, 64, 3);
  large.height.before = large.height.after = large.width.before = large.width.after = 1;
  bool taken = false;
  for (const ConvolutionSpec& spec : {large, millrace::testing::square_images(64, 20, 12, 50, 5),
                                      millrace::testing::square_images(32, 256, 14, 512, 1)}) {
    for (const Pass pass : {Pass::forward, Pass::input_gradient, Pass::weight_gradient}) {
      target.precision = Precision::float32;
      const CudnnConvolution strict(library, target, spec, pass);
      target.precision = Precision::tf32;
      const CudnnConvolution rounding(library, target, spec, pass);
      EXPECT_LE(rounding.passed_over(), strict.passed_over());
      EXPECT_LE(rounding.place(), strict.place());
      taken = taken || rounding.place() < strict.place();
    }
  }
  return taken;
}

class CudaCudnnPlans : public ::testing::TestWithParam<Gpu> {
 protected:
  void SetUp() override {
    if (test::kEmulated) GTEST_SKIP() << "asks cuDNN itself";
    try {
      library_.emplace();
    } catch (const DeviceError& error) {
      GTEST_SKIP() << "needs cuDNN: " << error.what();
    }
    if (library_->get_version() < 90800) GTEST_SKIP() << "needs cuDNN 9.8, which plans without a device";
    const std::string text = properties(GetParam());
    device_.emplace(*library_, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    device_->set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, std::span<const char>(text));
    device_->finalize();
  }

  std::optional<Cudnn> library_;
  std::optional<CudnnDescriptor> device_;
};

TEST_P(CudaCudnnPlans, AreFoundForEveryPass) {
  for (ConvolutionSpec spec : millrace::testing::convolution_cases()) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      spec.dtype = dtype;
      for (const Pass pass : {Pass::forward, Pass::input_gradient, Pass::weight_gradient}) {
        const CudnnConvolution plan(*library_, {.device = &*device_}, spec, pass);
        EXPECT_LE(plan.workspace(), CudnnConvolution::most_workspace(spec))
            << spec.input().text() << " with " << spec.weight().text();
      }
    }
  }
}

// The first of the library's list for these are tensor cores, and sums in whatever order.
TEST_P(CudaCudnnPlans, PassOverEnginesThatWillNotDo) {
  ConvolutionSpec spec = millrace::testing::square_images(256, 64, 56, 64, 3);
  spec.height.before = spec.height.after = spec.width.before = spec.width.after = 1;
  int passed_over = 0;
  for (const Pass pass : {Pass::forward, Pass::input_gradient, Pass::weight_gradient}) {
    passed_over += CudnnConvolution(*library_, {.device = &*device_}, spec, pass).passed_over();
  }
  EXPECT_GT(passed_over, 0);
}

// Where there is a GPU, the library's lists for described ones are shorter, and may have no engine that rounds.
TEST_P(CudaCudnnPlans, TakeTensorCoresWhereRoundingIsAllowed) {
  const bool taken = takes_tensor_cores(*library_, {.device = &*device_});
  if (GetParam().version < 800) {
    EXPECT_FALSE(taken) << "there are none";
  } else if (cuda_status().usable.empty()) {
    EXPECT_TRUE(taken);
  }
}

TEST_P(CudaCudnnPlans, CanBeMadeOfEveryEngineThatWillDo) {
  const ConvolutionSpec spec = millrace::testing::square_images(256, 64, 56, 64, 3);
  const CudnnConvolution first(*library_, {.device = &*device_}, spec, Pass::forward);
  const CudnnConvolution any(*library_, {.device = &*device_, .any_numbers = true}, spec, Pass::forward);
  EXPECT_LE(any.place(), first.place());
  try {
    const CudnnConvolution next(*library_, {.device = &*device_, .skip = 1}, spec, Pass::forward);
    EXPECT_GT(next.place(), first.place());
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), ::testing::StartsWith("cuDNN has no way"));
  }
}

TEST_P(CudaCudnnPlans, AreRefusedWithTheShapes) {
  ConvolutionSpec spec = millrace::testing::convolution_cases().front();
  spec.height.stride = spec.width.stride = int64_t{1} << 40;
  try {
    const CudnnConvolution plan(*library_, {.device = &*device_}, spec, Pass::forward);
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), ::testing::StartsWith("cuDNN has no way to a convolution of "));
    EXPECT_THAT(error.what(), ::testing::HasSubstr(spec.input().text() + " with " + spec.weight().text() +
                                                   " that computes in full width and always in one order"));
  }
}

TEST_P(CudaCudnnPlans, AreRefusedWithWhatWasAsked) {
  const ConvolutionSpec spec = millrace::testing::convolution_cases().front();
  const auto refused = [&](CudnnTarget target) {
    target.device = &*device_;
    target.skip = 1000;
    try {
      const CudnnConvolution plan(*library_, target, spec, Pass::forward);
      return std::string("found");
    } catch (const DeviceError& error) {
      return std::string(error.what());
    }
  };
  EXPECT_THAT(refused({.any_numbers = true}), ::testing::HasSubstr(" that is compiled beforehand, after 1000 that "));
  EXPECT_THAT(refused({.precision = Precision::tf32}),
              ::testing::HasSubstr(" in full width or TF32 and always in one order, after 1000 that would do"));
}

class CudaCudnnOnItsGpu : public test::CudaTest {};

TEST_F(CudaCudnnOnItsGpu, TakesTensorCoresWhereRoundingIsAllowed) {
  if (test::kEmulated) GTEST_SKIP() << "asks cuDNN itself";
  int major = 0;
  MILLRACE_CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, context().device().index));
  State& state = context().cuda();
  EXPECT_EQ(takes_tensor_cores(state.cudnn(), {.handle = state.cudnn_handle()}), major >= 8);
}

INSTANTIATE_TEST_SUITE_P(Cuda, CudaCudnnPlans,
                         ::testing::Values(Gpu{"T4", 750, 40, 65536, 1024}, Gpu{"A100", 800, 108, 166912, 2048},
                                           Gpu{"RTX4090", 890, 128, 101376, 1536}, Gpu{"H100", 900, 132, 232448, 2048},
                                           Gpu{"B200", 1000, 148, 232448, 2048}),
                         [](const auto& of) { return of.param.name; });

}  // namespace
}  // namespace millrace::cuda
