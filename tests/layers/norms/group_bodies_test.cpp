// The bodies in the order of a GPU's threads, against that of the CPU.
#include "millrace/layers/norms/group_bodies.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "millrace/core/context.h"
#include "millrace/core/threads/executor.h"
#include "tests/support/cuda.h"
#include "tests/support/thread_block.h"

namespace millrace {
namespace {

constexpr int64_t kRows = 3, kStrideMore = 5;

struct Results {
  std::vector<double> y, moments, dx, dweight, dbias;
};

// All of a layer, by `width` threads; by one of the CPU's for 0.
Results run(const GroupNormShape& shape, int width) {
  Executor executor(1);
  Context context(Device::cpu(), executor);
  const int64_t items = kRows * shape.items, columns = shape.items * shape.channels * shape.pixels;
  const int64_t stride = columns + kStrideMore;
  const auto values = static_cast<size_t>(kRows * stride), channels = static_cast<size_t>(shape.channels);
  const auto x = test::random_values<double>(values, "x"), dy = test::random_values<double>(values, "dy");
  const auto weight = test::random_values<double>(channels, "w"), bias = test::random_values<double>(channels, "b");
  Results results;
  results.y.resize(values, 77);
  results.dx.resize(values, 77);
  results.moments.resize(static_cast<size_t>(2 * items * shape.groups), 77);
  results.dweight.resize(static_cast<size_t>(items) * channels, 77);
  results.dbias.resize(static_cast<size_t>(items) * channels, 77);
  const auto target = [&](std::vector<double>& to) {
    const TensorView view(to.data(), DType::f64, Shape{kRows, columns}, static_cast<size_t>(stride) * sizeof(double));
    return Target<double>(context, {.view = view});
  };
  const auto each_row = [&](int64_t rows, const auto& body) {
    if (width > 0) return test::run_rows(width, rows, body);
    for (int64_t row = 0; row < rows; ++row) body(row, OneLane{});
  };
  each_row(items * shape.groups, Normalise<double>{shape, x.data(), stride, weight.data(), bias.data(),
                                                   target(results.y), results.moments.data()});
  each_row(items * shape.groups, NormaliseGradient<double>{shape, x.data(), dy.data(), stride, stride, weight.data(),
                                                           results.moments.data(), target(results.dx)});
  each_row(items * shape.channels,
           ParameterGradients<double>{shape, x.data(), dy.data(), stride, stride, results.moments.data(),
                                      results.dweight.data(), results.dbias.data()});
  return results;
}

void expect_near(const std::vector<double>& got, const std::vector<double>& expected, const std::string& what) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], 1e-11) << what << ' ' << i;
}

TEST(GroupBodies, ABlockOfThreadsComputesWhatOneDoes) {
  const GroupNormShape shapes[] = {{.channels = 6, .pixels = 35, .groups = 2, .channels_last = false},
                                   {.channels = 6, .pixels = 35, .groups = 3, .channels_last = true},
                                   {.channels = 4, .pixels = 1, .groups = 4},
                                   {.channels = 12, .pixels = 2, .groups = 1, .channels_last = false},
                                   {.items = 4, .channels = 9}};
  for (const GroupNormShape& shape : shapes) {
    const Results one = run(shape, 0);
    // Every value was written, and nothing between the rows.
    for (const auto* results : {&one.y, &one.dx}) {
      EXPECT_EQ(std::count(results->begin(), results->end(), 77.0), kRows * kStrideMore);
    }
    for (const auto* results : {&one.moments, &one.dweight, &one.dbias}) {
      EXPECT_EQ(std::count(results->begin(), results->end(), 77.0), 0);
    }
    for (const int width : {8, 32}) {
      const Results block = run(shape, width);
      expect_near(block.y, one.y, "y");
      expect_near(block.moments, one.moments, "moments");
      expect_near(block.dx, one.dx, "dx");
      expect_near(block.dweight, one.dweight, "dweight");
      expect_near(block.dbias, one.dbias, "dbias");
    }
  }
}

}  // namespace
}  // namespace millrace
