// The bodies of CUDA's pooling, run on the host, against the loops of the CPU.
#include "millrace/core/kernels/images/pooling_gather.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/core/kernels/images/convolution_check.h"

namespace millrace::testing {
namespace {

template <class T, class F>
void run(int64_t count, const F& body) {
  for (int64_t i = 0; i < count; ++i) body(i);
}

// Both ways through the same pools.
template <class T>
class Pools {
 public:
  explicit Pools(const PoolingSpec& spec) : spec_(spec), high_(spec.height), wide_(spec.width) {
    spec_.dtype = DTypeOf<T>::value;
    x_ = drawn("x", spec_.input().shape.elements());
    // Equal values, of which the first is taken, and a NaN.
    for (size_t i = 0; i < x_.size(); ++i) x_[i] = std::round(x_[i] * 4) / 4;
    x_[x_.size() / 2] = std::numeric_limits<double>::quiet_NaN();
    dy_ = drawn("dy", spec_.output().shape.elements());
    before_ = drawn("before", spec_.input().shape.elements());
  }

  void check_max() {
    std::vector<T> x = channels_last<T>(x_, spec_.input().shape), y(dy_.size());
    std::vector<int32_t> taken(y.size());
    max_pool(context_, spec_, view(x, spec_.input()), view(y, spec_.output()), taken.data());

    std::vector<T> plain(x_.begin(), x_.end()), most(y.size());
    std::vector<int32_t> numbers(y.size());
    run<T>(std::ssize(most), cuda::MaxPool<T>{high_, wide_, spec_.channels, plain.data(), in_size(), most.data(),
                                              out_size(), numbers.data()});
    expect_same(most, in_order(y, spec_.output().shape));
    const Values taken_in_order = in_order(taken, spec_.output().shape);
    EXPECT_EQ(Values(numbers.begin(), numbers.end()), taken_in_order);

    for (const float beta : {0.0F, 1.0F}) {
      const float alpha = -0.5;
      std::vector<T> dy = channels_last<T>(dy_, spec_.output().shape),
                     dx = channels_last<T>(before_, spec_.input().shape);
      pool_gradient(context_, spec_, taken.data(), view(dy, spec_.output()),
                    {.view = view(dx, spec_.input()), .beta = beta, .alpha = &alpha});
      expect_gradient(numbers.data(), beta, &alpha, in_order(dx, spec_.input().shape));
    }
  }

  void check_mean() {
    std::vector<T> x = channels_last<T>(before_, spec_.input().shape), y(dy_.size());
    average_pool(context_, spec_, view(x, spec_.input()), view(y, spec_.output()));
    std::vector<T> plain(before_.begin(), before_.end()), mean(y.size());
    run<T>(std::ssize(mean),
           cuda::AveragePool<T>{high_, wide_, spec_.channels, plain.data(), in_size(), mean.data(), out_size()});
    expect_same(mean, in_order(y, spec_.output().shape));

    for (const float beta : {0.0F, 1.0F}) {
      std::vector<T> dy = channels_last<T>(dy_, spec_.output().shape),
                     dx = channels_last<T>(before_, spec_.input().shape);
      pool_gradient(context_, spec_, nullptr, view(dy, spec_.output()),
                    {.view = view(dx, spec_.input()), .beta = beta});
      expect_gradient(nullptr, beta, nullptr, in_order(dx, spec_.input().shape));
    }
  }

 private:
  static constexpr double kTolerance = std::is_same_v<T, float> ? 1e-6 : 1e-14;

  int64_t in_size() const { return spec_.input().shape.row().elements(); }
  int64_t out_size() const { return spec_.output().shape.row().elements(); }
  static TensorView view(std::vector<T>& values, const TensorSpec& of) {
    return TensorView(values.data(), of.dtype, of.shape);
  }
  void expect_gradient(const int32_t* numbers, float beta, const float* alpha, const Values& expected) {
    const std::vector<T> dy(dy_.begin(), dy_.end());
    std::vector<T> dx(before_.begin(), before_.end());
    run<T>(std::ssize(dx), cuda::PoolGradient<T>{high_, wide_, spec_.channels, numbers, dy.data(), out_size(),
                                                 dx.data(), in_size(), static_cast<T>(beta), alpha});
    expect_same(dx, expected);
  }
  static void expect_same(const std::vector<T>& got, const Values& expected) {
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) {
      if (expected[i] != expected[i]) {
        EXPECT_TRUE(got[i] != got[i]) << i;
      } else {
        ASSERT_NEAR(static_cast<double>(got[i]), expected[i], kTolerance) << i;
      }
    }
  }

  PoolingSpec spec_;
  cuda::PoolAxis high_, wide_;
  Values x_, dy_, before_;
  Executor executor_{2};
  Context context_{Device::cpu(), executor_};
};

std::vector<PoolingSpec> cases() {
  const auto pools = [](const ConvolutionSpec::Axis& high, const ConvolutionSpec::Axis& wide) {
    return PoolingSpec{.batch = 2, .channels = 3, .height = high, .width = wide};
  };
  const ConvolutionSpec::Axis plain = {.in = 6, .kernel = 2, .stride = 2},
                              over = {.in = 7, .kernel = 3, .stride = 2, .dilation = 1, .before = 1, .after = 1},
                              behind = {.in = 5, .kernel = 2, .stride = 1, .dilation = 1, .before = 0, .after = 1},
                              apart = {.in = 9, .kernel = 2, .stride = 5}, whole = {.in = 4, .kernel = 4, .stride = 1},
                              dilated = {.in = 9, .kernel = 3, .stride = 1, .dilation = 2, .before = 2, .after = 2};
  return {pools(plain, plain), pools(over, over),   pools(behind, over),
          pools(apart, plain), pools(whole, whole), pools(dilated, over)};
}

TEST(PoolingGather, IsLikeTheCpusLoops) {
  for (const PoolingSpec& spec : cases()) {
    SCOPED_TRACE(spec.input().text());
    Pools<float>(spec).check_max();
    Pools<double>(spec).check_max();
    Pools<float>(spec).check_mean();
    Pools<double>(spec).check_mean();
  }
}

}  // namespace
}  // namespace millrace::testing
