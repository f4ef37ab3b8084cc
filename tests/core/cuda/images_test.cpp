// Pooling, sums over channels and batch normalisation on the device, against the CPU's.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "millrace/core/kernels/batch_norm.h"
#include "millrace/core/kernels/images/channels.h"
#include "millrace/core/kernels/images/pooling.h"
#include "tests/core/kernels/images/convolution_check.h"
#include "tests/support/cuda.h"

namespace millrace::testing {
namespace {

constexpr double kTolerance = 3e-5;

void expect_near(const Values& got, const Values& expected, const std::string& what) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (expected[i] != expected[i]) {
      ASSERT_TRUE(got[i] != got[i]) << what << ' ' << i;
    } else {
      ASSERT_NEAR(got[i], expected[i], kTolerance * (1 + std::abs(expected[i]))) << what << ' ' << i;
    }
  }
}

// Runs the same operation on both devices, each with images in its own order, and compares what it made.
class CudaImages : public test::CudaTest {
 protected:
  struct Side {
    Context& context;
    bool last;  // channels last

    // Of images of `shape`, or of values that have no order but their own.
    Memory put(const Values& values, const Shape& shape = {}) const {
      std::vector<float> data(values.begin(), values.end());
      if (last && shape.rank() > 0) data = channels_last<float>(values, shape);
      Memory memory(context.device(), data.size() * sizeof(float));
      context.copy(memory.data(), data.data(), memory.bytes());
      context.synchronize();
      return memory;
    }
    Values get(const Memory& memory, const Shape& shape = {}) const {
      std::vector<float> data(memory.bytes() / sizeof(float));
      context.copy(data.data(), memory.data(), memory.bytes());
      context.synchronize();
      return last && shape.rank() > 0 ? in_order(data, shape) : Values(data.begin(), data.end());
    }
  };

  void compare(const std::function<std::vector<Values>(const Side&)>& run) {
    const std::vector<Values> cpu = run({cpu_, true}), device = run({context(), false}),
                              again = run({context(), false});
    ASSERT_EQ(cpu.size(), device.size());
    for (size_t i = 0; i < cpu.size(); ++i) {
      expect_near(device[i], cpu[i], cat("result ", i));
      EXPECT_EQ(test::bytes_of(device[i]), test::bytes_of(again[i])) << "not the same bits every time";
    }
  }

 private:
  Executor executor_{2};
  Context cpu_{Device::cpu(), executor_};
};

TensorView view(const Memory& memory, const Shape& shape) { return {memory.data(), DType::f32, shape}; }

std::vector<PoolingSpec> pools() {
  const ConvolutionSpec::Axis plain = {.in = 28, .kernel = 2, .stride = 2},
                              over = {.in = 33, .kernel = 3, .stride = 2, .dilation = 1, .before = 1, .after = 1},
                              dilated = {.in = 17, .kernel = 3, .stride = 1, .dilation = 2, .before = 2, .after = 1};
  return {{.batch = 64, .channels = 20, .height = plain, .width = plain},
          {.batch = 5, .channels = 3, .height = over, .width = dilated},
          {.batch = 1, .channels = 1, .height = dilated, .width = over}};
}

TEST_F(CudaImages, PoolAsOnTheCpu) {
  for (const PoolingSpec& spec : pools()) {
    const Shape in = spec.input().shape, out = spec.output().shape;
    Values x = drawn("x", in.elements());
    x[x.size() / 2] = std::numeric_limits<double>::quiet_NaN();
    const Values finite = drawn("mean", in.elements()), dy = drawn("dy", out.elements());
    compare([&](const Side& side) {
      const Memory from = side.put(x, in), slopes = side.put(dy, out), mean_from = side.put(finite, in);
      const Memory most = side.put(dy, out), mean = side.put(dy, out), dx = side.put(finite, in),
                   dmean = side.put(finite, in), half = side.put({0.5});
      const Memory taken(side.context.device(), static_cast<size_t>(out.elements()) * sizeof(int32_t));
      auto* const numbers = static_cast<int32_t*>(taken.data());
      max_pool(side.context, spec, view(from, in), view(most, out), numbers);
      pool_gradient(side.context, spec, numbers, view(slopes, out),
                    {.view = view(dx, in), .beta = 1, .alpha = static_cast<const float*>(half.data())});
      average_pool(side.context, spec, view(mean_from, in), view(mean, out));
      pool_gradient(side.context, spec, nullptr, view(slopes, out), {.view = view(dmean, in)});
      return std::vector<Values>{side.get(most, out), side.get(dx, in), side.get(mean, out), side.get(dmean, in)};
    });
  }
}

TEST_F(CudaImages, ChannelsAddUpAsOnTheCpu) {
  for (const ChannelSpec& spec :
       {ChannelSpec{.batch = 64, .channels = 50, .pixels = 64}, ChannelSpec{.batch = 3, .channels = 7, .pixels = 12321},
        ChannelSpec{.batch = 1000, .channels = 3, .pixels = 1}}) {
    const Shape images{spec.batch, spec.channels, spec.pixels, 1}, each{spec.channels};
    const Values x = drawn("x", images.elements()), before = drawn("before", spec.channels);
    compare([&](const Side& side) {
      const Memory from = side.put(x, images), sums = side.put(before);
      const Memory scratch(side.context.device(), channel_sum_scratch(side.context.device(), spec));
      channel_sum(side.context, spec, from.data(), {.view = view(sums, each), .beta = 1}, scratch.data());
      return std::vector<Values>{side.get(sums)};
    });
  }
}

TEST_F(CudaImages, AreNormalisedAsOnTheCpu) {
  for (const Shape& images : {Shape{64, 16, 28, 28}, Shape{5, 3, 111, 7}, Shape{300, 33, 1, 1}}) {
    const int64_t channels = images[1], pixels = images[2] * images[3];
    const BatchNormSpec spec = {.rows = images[0] * pixels, .channels = channels, .pixels = pixels};
    const Values x = drawn("x", images.elements()), dy = drawn("dy", images.elements());
    const Values scale = drawn("scale", channels), shift = drawn("shift", channels);
    compare([&](const Side& side) {
      const Memory from = side.put(x, images), slopes = side.put(dy, images), y = side.put(x, images),
                   dx = side.put(dy, images), weight = side.put(scale), bias = side.put(shift),
                   dweight = side.put(scale), dbias = side.put(shift), mean = side.put(scale),
                   variance = side.put(scale);
      const Memory scratch(side.context.device(), batch_norm_scratch(side.context.device(), spec));
      const ConstNormRows in = {from.data(), channels}, slope = {slopes.data(), channels};
      batch_moments(side.context, spec, in, mean.data(), variance.data(), scratch.data());
      const NormParams params = {mean.data(), variance.data(), weight.data(), bias.data()};
      batch_norm(side.context, spec, in, params, {y.data(), channels});
      BatchNormGradients gradients;
      gradients.dx = {.view = view(dx, images), .beta = 1};
      gradients.weight = {.view = view(dweight, Shape{channels})};
      gradients.bias = {.view = view(dbias, Shape{channels}), .beta = 1};
      batch_norm_gradient(side.context, spec, in, slope, params, gradients, scratch.data());
      return std::vector<Values>{side.get(mean),       side.get(variance), side.get(y, images),
                                 side.get(dx, images), side.get(dweight),  side.get(dbias)};
    });
  }
}

}  // namespace
}  // namespace millrace::testing
