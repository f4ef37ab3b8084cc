#include "millrace/core/kernels/images/pooling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "millrace/core/errors.h"
#include "tests/core/kernels/images/convolution_check.h"

namespace millrace::testing {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

PoolingSpec pooling(int64_t batch, int64_t channels, int64_t size, int64_t kernel, int64_t stride,
                    int64_t padding = 0) {
  PoolingSpec spec{.batch = batch, .channels = channels, .height = {}, .width = {}};
  spec.height = spec.width = {.in = size, .kernel = kernel, .stride = stride, .before = padding, .after = padding};
  return spec;
}

template <class T>
class Pool {
 public:
  explicit Pool(const PoolingSpec& spec, int threads = 2)
      : spec_(spec), executor_(threads), context_(Device::cpu(), executor_) {
    spec_.dtype = DTypeOf<T>::value;
  }

  Values max(const Values& values) {
    std::vector<T> x = channels_last<T>(values, spec_.input().shape), y = empty();
    std::vector<T> untaken = empty();
    taken_.assign(y.size(), -1);
    max_pool(context_, spec_, view(x, spec_.input()), view(y, spec_.output()), taken_.data());
    max_pool(context_, spec_, view(x, spec_.input()), view(untaken, spec_.output()), nullptr);
    const Values out = in_order(y, spec_.output().shape), again = in_order(untaken, spec_.output().shape);
    for (size_t i = 0; i < out.size(); ++i)
      EXPECT_TRUE(out[i] == again[i] || (out[i] != out[i] && again[i] != again[i]));
    return out;
  }
  Values mean(const Values& values) {
    std::vector<T> x = channels_last<T>(values, spec_.input().shape), y = empty();
    average_pool(context_, spec_, view(x, spec_.input()), view(y, spec_.output()));
    return in_order(y, spec_.output().shape);
  }
  Values max_gradient(const Values& dy, const Values& before = {}, float alpha = 1) {
    return gradient(dy, before, alpha, [&](const TensorView& from, const Destination& to) {
      pool_gradient(context_, spec_, taken_.data(), from, to);
    });
  }
  Values mean_gradient(const Values& dy, const Values& before = {}, float alpha = 1) {
    return gradient(dy, before, alpha, [&](const TensorView& from, const Destination& to) {
      pool_gradient(context_, spec_, nullptr, from, to);
    });
  }

 private:
  std::vector<T> empty() const {
    return std::vector<T>(static_cast<size_t>(spec_.output().shape.elements()), static_cast<T>(kNaN));
  }
  static TensorView view(std::vector<T>& values, const TensorSpec& spec) {
    return TensorView(values.data(), spec.dtype, spec.shape);
  }
  template <class F>
  Values gradient(const Values& dy, const Values& before, const float& alpha, const F& run) {
    std::vector<T> from = channels_last<T>(dy, spec_.output().shape);
    const Values nothing(static_cast<size_t>(spec_.input().shape.elements()), kNaN);
    std::vector<T> to = channels_last<T>(before.empty() ? nothing : before, spec_.input().shape);
    run(view(from, spec_.output()), Destination{.view = view(to, spec_.input()),
                                                .beta = before.empty() ? 0.0F : 1.0F,
                                                .alpha = alpha == 1 ? nullptr : &alpha});
    return in_order(to, spec_.input().shape);
  }

  PoolingSpec spec_;
  Executor executor_;
  Context context_;
  std::vector<int32_t> taken_;
};

TEST(Pooling, ByHand) {
  Pool<double> pool(pooling(1, 2, 4, 2, 2));
  const Values x = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10,  11,  12,  13,  14,  15,  16,
                    -1, -2, -3, -4, -5, -6, -7, -8, -9, -10, -11, -12, -13, -14, -15, -16};
  EXPECT_EQ(pool.max(x), (Values{6, 8, 14, 16, -1, -3, -9, -11}));
  EXPECT_EQ(pool.mean(x), (Values{3.5, 5.5, 11.5, 13.5, -3.5, -5.5, -11.5, -13.5}));
  const Values dy = {1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(pool.max_gradient(dy),
            (Values{0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 3, 0, 4, 5, 0, 6, 0, 0, 0, 0, 0, 7, 0, 8, 0, 0, 0, 0, 0}));
  EXPECT_EQ(pool.mean_gradient({4, 0, 0, 0, 0, 0, 0, 8}),
            (Values{1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 0, 0, 2, 2}));
}

TEST(Pooling, TheFirstOfEqualValuesIsTaken) {
  Pool<float> pool(pooling(1, 1, 2, 2, 2));
  EXPECT_EQ(pool.max({3, 3, 3, 3}), Values{3});
  EXPECT_EQ(pool.max_gradient({1}), (Values{1, 0, 0, 0}));
}

TEST(Pooling, ANaNIsTheLargest) {
  Pool<float> pool(pooling(1, 1, 2, 2, 2));
  EXPECT_TRUE(std::isnan(pool.max({9, kNaN, 10, kNaN})[0]));
  EXPECT_EQ(pool.max_gradient({1}), (Values{0, 1, 0, 0})) << "of the first of them";
  EXPECT_TRUE(std::isnan(pool.max({kNaN, 1, 2, 3})[0]));
}

TEST(Pooling, WhatLiesOutsideCountsForNothing) {
  Pool<double> pool(pooling(1, 1, 2, 3, 2, 1));
  EXPECT_EQ(pool.max({-1, -2, -3, -4}), Values{-1});
  EXPECT_EQ(pool.mean({-1, -2, -3, -4}), Values{-2.5});
  EXPECT_EQ(pool.mean_gradient({4}), (Values{1, 1, 1, 1}));
}

TEST(Pooling, GradientsOfWindowsThatOverlapAddUp) {
  Pool<double> pool(pooling(1, 1, 3, 2, 1));
  const Values x = {1, 2, 3, 4, 9, 5, 6, 7, 8};
  EXPECT_EQ(pool.max(x), (Values{9, 9, 9, 9}));
  EXPECT_EQ(pool.max_gradient({1, 10, 100, 1000}), (Values{0, 0, 0, 0, 1111, 0, 0, 0, 0}));
  EXPECT_EQ(pool.max_gradient({1, 10, 100, 1000}, x, -1), (Values{1, 2, 3, 4, 9 - 1111, 5, 6, 7, 8}));
  EXPECT_EQ(pool.mean_gradient({4, 4, 4, 4}), (Values{1, 2, 1, 2, 4, 2, 1, 2, 1}));
  EXPECT_EQ(pool.mean_gradient({4, 4, 4, 4}, x, 2), (Values{3, 6, 5, 8, 17, 9, 8, 11, 10}));
}

// Of each value of the output, from the definition.
Values largest(const PoolingSpec& spec, const Values& x) {
  const Shape in = spec.input().shape, out = spec.output().shape;
  Values y;
  for (int64_t plane = 0; plane < out[0] * out[1]; ++plane) {
    for (int64_t h = 0; h < out[2]; ++h) {
      for (int64_t w = 0; w < out[3]; ++w) {
        double most = -std::numeric_limits<double>::infinity();
        for (int64_t i = 0; i < spec.height.kernel; ++i) {
          for (int64_t j = 0; j < spec.width.kernel; ++j) {
            const int64_t row = h * spec.height.stride + i * spec.height.dilation - spec.height.before;
            const int64_t column = w * spec.width.stride + j * spec.width.dilation - spec.width.before;
            if (row < 0 || row >= in[2] || column < 0 || column >= in[3]) continue;
            most = std::max(most, x[static_cast<size_t>((plane * in[2] + row) * in[3] + column)]);
          }
        }
        y.push_back(most);
      }
    }
  }
  return y;
}

TEST(Pooling, AgreesWithTheDefinitionForOddSizes) {
  PoolingSpec uneven{.batch = 3, .channels = 5, .height = {}, .width = {}};
  uneven.height = {.in = 9, .kernel = 3, .stride = 2, .dilation = 2, .before = 2, .after = 1};
  uneven.width = {.in = 7, .kernel = 2, .stride = 3, .before = 0, .after = 1};
  for (const PoolingSpec& spec :
       {uneven, pooling(4, 20, 24, 2, 2), pooling(2, 3, 7, 3, 1, 1), pooling(1, 1, 1, 1, 1)}) {
    const Values x = drawn("x", spec.input().shape.elements());
    EXPECT_EQ(Pool<float>(spec).max(x), largest(spec, x));
    EXPECT_EQ(Pool<double>(spec).max(x), largest(spec, x));
  }
}

TEST(Pooling, GivesTheSameBitsForEveryNumberOfThreads) {
  const PoolingSpec spec = pooling(23, 20, 24, 3, 2, 1);
  const Values x = drawn("x", spec.input().shape.elements()), dy = drawn("dy", spec.output().shape.elements());
  Pool<float> alone(spec, 1);
  const Values y = alone.max(x), dx = alone.max_gradient(dy), mean = alone.mean(x), spread = alone.mean_gradient(dy);
  for (const int threads : {2, 3, 8}) {
    Pool<float> pool(spec, threads);
    EXPECT_EQ(pool.max(x), y);
    EXPECT_EQ(pool.max_gradient(dy), dx);
    EXPECT_EQ(pool.mean(x), mean);
    EXPECT_EQ(pool.mean_gradient(dy), spread);
  }
}

TEST(Pooling, RefusesWholeNumbers) {
  PoolingSpec spec = pooling(1, 1, 2, 2, 2);
  spec.dtype = DType::i32;
  Executor executor(1);
  Context context(Device::cpu(), executor);
  EXPECT_THROW(average_pool(context, spec, {}, {}), InternalError);
}

}  // namespace
}  // namespace millrace::testing
