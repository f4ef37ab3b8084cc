// Convolutions on the device against their definition.
#include "millrace/core/kernels/images/convolution.h"

#include <gtest/gtest.h>

#include "tests/core/kernels/images/convolution_cases.h"
#include "tests/core/kernels/images/convolution_check.h"
#include "tests/support/cuda.h"

#if defined(MILLRACE_CUDA_EMULATED)
#include <cudnn.h>

#include "millrace/core/errors.h"
#include "tests/emulated_gpu/emulated_gpu.h"
#endif

namespace millrace {
namespace {

using millrace::testing::expect_near;
using millrace::testing::Reference;
using millrace::testing::times;
using millrace::testing::Values;

class CudaConvolution : public test::CudaTest {
 protected:
  template <class T>
  Memory put(const Values& values) {
    return upload(std::vector<T>(values.begin(), values.end()));
  }
  template <class T>
  Values get(const Memory& memory) {
    const std::vector<T> values = download<T>(memory.data(), memory.bytes() / sizeof(T));
    return Values(values.begin(), values.end());
  }
  // Full of NaN where nothing is there before.
  template <class T>
  Memory target(const Values& before, size_t count) {
    return put<T>(before.empty() ? Values(count, std::nan("")) : before);
  }
  template <class T>
  Destination destination(const Memory& memory, const TensorSpec& spec, bool adds, const Memory& alpha) {
    return {.view = TensorView(memory.data(), DTypeOf<T>::value, spec.shape),
            .beta = adds ? 1.0F : 0.0F,
            .alpha = static_cast<const float*>(alpha.data())};
  }

  template <class T>
  void check(ConvolutionSpec spec, double tolerance) {
    const Reference of(spec);
    spec.dtype = DTypeOf<T>::value;
    const std::string what = spec.input().text() + " with " + spec.weight().text();
    const Memory x = put<T>(of.x), weight = put<T>(of.weight), bias = put<T>(of.bias), dy = put<T>(of.dy);

    const Memory y = target<T>({}, of.y.size());
    // Each is kept until its work has ended.
    const auto forward = make_convolution(context(), spec, {.bias = true, .activation = FusedActivation::relu});
    forward->run(context(), {.x = x.data(), .weight = weight.data(), .bias = bias.data(), .y = y.data()});
    Values rectified = of.y;
    for (double& value : rectified) value = std::max(value, 0.0);
    expect_near(get<T>(y), rectified, tolerance, what + ": y");

    const Memory none, half = upload(std::vector<float>{-0.5F});
    for (const bool adds : {false, true}) {
      for (const Memory* alpha : {&none, &half}) {
        const double factor = alpha == &half ? -0.5 : 1;
        const auto expected = [&](const Values& gradient, const Values& before) {
          return times(gradient, factor, adds ? before : Values(gradient.size()));
        };
        const Memory dx = target<T>(adds ? of.x : Values{}, of.x.size());
        const auto input_gradient =
            make_convolution(context(), spec, {.pass = ConvolutionPass::input_gradient, .beta = adds ? 1.0F : 0.0F});
        input_gradient->run(
            context(),
            {.weight = weight.data(), .dy = dy.data(), .dx = destination<T>(dx, spec.input(), adds, *alpha)});
        expect_near(get<T>(dx), expected(of.dx, of.x), tolerance, what + ": dx");

        const Memory dweight = target<T>(adds ? of.weight : Values{}, of.weight.size());
        const Memory dbias = target<T>(adds ? of.bias : Values{}, of.bias.size());
        const auto weight_gradient =
            make_convolution(context(), spec, {.pass = ConvolutionPass::weight_gradient, .bias = true});
        weight_gradient->run(context(),
                             {.x = x.data(),
                              .dy = dy.data(),
                              .dweight = destination<T>(dweight, spec.weight(), adds, *alpha),
                              .dbias = destination<T>(dbias, {Shape{spec.out_channels}, spec.dtype}, adds, *alpha)});
        expect_near(get<T>(dweight), expected(of.dweight, of.weight), tolerance, what + ": dweight");
        expect_near(get<T>(dbias), expected(of.dbias, of.bias), tolerance, what + ": dbias");
      }
    }
  }
};

TEST_F(CudaConvolution, IsLikeItsDefinition) {
  for (const ConvolutionSpec& spec : millrace::testing::convolution_cases()) {
    // Errors grow with the root of the longest sum's length.
    const int64_t pixels = spec.batch * spec.height.out() * spec.width.out();
    const int64_t window = spec.height.kernel * spec.width.kernel;
    const int64_t channels = std::max(spec.in_channels, spec.out_channels) / spec.groups;
    check<float>(spec, 2e-6 * std::sqrt(static_cast<double>(std::max(pixels, window * channels))));
    check<double>(spec, 1e-12);
  }
}

TEST_F(CudaConvolution, GivesTheSameBytesEveryTime) {
  const ConvolutionSpec spec = millrace::testing::square_images(64, 20, 12, 50, 5);
  const Reference of(spec);
  const Memory x = put<float>(of.x), dy = put<float>(of.dy), none;
  std::vector<std::vector<uint8_t>> seen;
  for (int run = 0; run < 3; ++run) {
    const Memory dweight = target<float>({}, of.weight.size());
    const auto pass = make_convolution(context(), spec, {.pass = ConvolutionPass::weight_gradient});
    for (int again = 0; again < 3; ++again) {
      pass->run(context(),
                {.x = x.data(), .dy = dy.data(), .dweight = destination<float>(dweight, spec.weight(), false, none)});
      seen.push_back(test::bytes_of(download<float>(dweight.data(), of.weight.size())));
      EXPECT_EQ(seen.back(), seen.front());
    }
  }
}

#if defined(MILLRACE_CUDA_EMULATED)
// A mistake in what the library is told would else be a slower engine.
TEST_F(CudaConvolution, TakesTheNextEngineOnlyWhereOneIsNotSupported) {
  const ConvolutionSpec spec = millrace::testing::convolution_cases().front();
  const auto make = [&](cudnnStatus_t status) {
    emulation::fail_next_plan(status);
    static_cast<void>(make_convolution(context(), spec, {}));
  };
  for (const cudnnStatus_t status : {CUDNN_STATUS_NOT_SUPPORTED, CUDNN_STATUS_NOT_SUPPORTED_SHAPE}) {
    EXPECT_NO_THROW(make(status)) << status;
  }
  for (const cudnnStatus_t status :
       {CUDNN_STATUS_BAD_PARAM, CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND, CUDNN_STATUS_ALLOC_FAILED}) {
    EXPECT_THROW(make(status), DeviceError) << status;
  }
}
#endif

}  // namespace
}  // namespace millrace
