// What CUDA's batch normalisation runs, run on the host in the same order, against the CPU's.
#include "millrace/core/kernels/batch_norm_bodies.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/core/kernels/images/convolution_check.h"
#include "tests/support/host_launcher.h"

namespace millrace::testing {
namespace {

constexpr test::HostLauncher kOnHost;

template <class T>
class Norms {
 public:
  // `gap` elements between vectors.
  Norms(int64_t batch, int64_t channels, int64_t pixels, int64_t gap = 0)
      : shape_{batch, channels, pixels, 1}, stride_((pixels > 1 ? channels : channels + gap)) {
    spec_ = {.rows = batch * pixels, .channels = channels, .pixels = pixels, .dtype = DTypeOf<T>::value};
    x_ = drawn("x", shape_.elements());
    dy_ = drawn("dy", shape_.elements());
    before_ = drawn("before", shape_.elements());
    for (const double value : drawn("weight", channels)) weight_.push_back(static_cast<T>(value));
    for (const double value : drawn("bias", channels)) bias_.push_back(static_cast<T>(value));
  }

  void check(double tolerance) {
    const Results cpu = on_cpu(), device = like_the_device();
    expect_near(device.mean, cpu.mean, tolerance, "mean");
    expect_near(device.variance, cpu.variance, tolerance, "variance");
    expect_near(device.y, cpu.y, tolerance, "y");
    expect_near(device.dx, cpu.dx, tolerance, "dx");
    expect_near(device.dweight, cpu.dweight, tolerance, "dweight");
    expect_near(device.dbias, cpu.dbias, tolerance, "dbias");
  }

  // Of one row: dx adds nothing to what was there.
  void check_alone() {
    for (const Results& results : {on_cpu(), like_the_device()}) EXPECT_EQ(results.dx, before_);
  }

 private:
  struct Results {
    Values mean, variance, y, dx, dweight, dbias;
  };

  // As the CPU has images, channels last, or as a device has them; vectors with their gap, full of NaN.
  std::vector<T> laid_out(const Values& values, bool last) const {
    std::vector<T> dense = last ? channels_last<T>(values, shape_) : std::vector<T>(values.begin(), values.end());
    if (stride_ == spec_.channels) return dense;
    std::vector<T> out(static_cast<size_t>(spec_.rows * stride_), std::numeric_limits<T>::quiet_NaN());
    for (int64_t row = 0; row < spec_.rows; ++row) {
      std::copy_n(dense.begin() + row * spec_.channels, spec_.channels, out.begin() + row * stride_);
    }
    return out;
  }
  Values read(const std::vector<T>& values, bool last) const {
    std::vector<T> dense;
    for (int64_t row = 0; row < spec_.rows; ++row) {
      dense.insert(dense.end(), values.begin() + row * stride_, values.begin() + row * stride_ + spec_.channels);
    }
    return last ? in_order(dense, shape_) : Values(dense.begin(), dense.end());
  }

  template <class Moments, class Forward, class Backward>
  Results run(bool last, const Moments& moments, const Forward& forward, const Backward& backward) {
    const std::vector<T> x = laid_out(x_, last), dy = laid_out(dy_, last);
    std::vector<T> y = laid_out(Values(x_.size()), last), dx = laid_out(before_, last), dweight = weight_,
                   dbias = bias_;
    std::vector<T> mean(weight_.size()), variance(weight_.size());
    const float alpha = 0.25, dx_alpha = 0.5;
    moments(ConstNormRows{x.data(), stride_}, mean.data(), variance.data());
    // The gradients go into the parameters, as those of plain SGD do.
    const NormParams params = {mean.data(), variance.data(), dweight.data(), dbias.data()};
    forward(ConstNormRows{x.data(), stride_}, params, NormRows{y.data(), stride_});
    BatchNormGradients gradients;
    const Shape each{spec_.channels}, all{static_cast<int64_t>(dx.size())};
    gradients.dx = {.view = TensorView(dx.data(), spec_.dtype, all), .beta = 1, .alpha = &dx_alpha};
    gradients.weight = {.view = TensorView(dweight.data(), spec_.dtype, each), .beta = 1, .alpha = &alpha};
    gradients.bias = {.view = TensorView(dbias.data(), spec_.dtype, each), .beta = 1, .alpha = &alpha};
    backward(ConstNormRows{x.data(), stride_}, ConstNormRows{dy.data(), stride_}, params, gradients);
    const auto plain = [](const std::vector<T>& values) { return Values(values.begin(), values.end()); };
    return {plain(mean), plain(variance), read(y, last), read(dx, last), plain(dweight), plain(dbias)};
  }

  Results on_cpu() {
    std::vector<std::byte> scratch(batch_norm_scratch(Device::cpu(), spec_));
    return run(
        true,
        [&](ConstNormRows x, T* mean, T* variance) {
          batch_moments(context_, spec_, x, mean, variance, scratch.data());
        },
        [&](ConstNormRows x, const NormParams& params, NormRows y) { batch_norm(context_, spec_, x, params, y); },
        [&](ConstNormRows x, ConstNormRows dy, const NormParams& params, const BatchNormGradients& gradients) {
          batch_norm_gradient(context_, spec_, x, dy, params, gradients, scratch.data());
        });
  }
  Results like_the_device() {
    std::vector<std::byte> scratch(cuda::norm_scratch(spec_));
    return run(
        false,
        [&](ConstNormRows x, T* mean, T* variance) {
          cuda::run_batch_moments(spec_, x, mean, variance, scratch.data(), kOnHost);
        },
        [&](ConstNormRows x, const NormParams& params, NormRows y) {
          cuda::run_batch_norm<T>(spec_, x, params, y, kOnHost);
        },
        [&](ConstNormRows x, ConstNormRows dy, const NormParams& params, const BatchNormGradients& gradients) {
          cuda::run_batch_norm_gradient<T>(spec_, x, dy, params, gradients, scratch.data(), kOnHost);
        });
  }

  Shape shape_;
  int64_t stride_;
  BatchNormSpec spec_;
  Values x_, dy_, before_;
  std::vector<T> weight_, bias_;
  Executor executor_{2};
  Context context_{Device::cpu(), executor_};
};

TEST(BatchNormBodies, AreLikeTheCpus) {
  Norms<float>(3, 5, 7).check(2e-6);
  Norms<double>(3, 5, 7).check(1e-13);
  Norms<double>(2, 1, 1).check(1e-13);
  Norms<double>(17, 6, 1).check(1e-13);
  Norms<float>(17, 6, 1, 10).check(2e-6);
  // More than one block, the last one short.
  Norms<double>(9, 3, 1000).check(1e-12);
  Norms<double>(cuda::kSumBlock + 1, 2, 1).check(1e-12);
}

TEST(BatchNormBodies, OneRowHasNoGradient) {
  Norms<float>(1, 40, 1).check_alone();
  Norms<double>(1, 40, 1).check_alone();
}

}  // namespace
}  // namespace millrace::testing
