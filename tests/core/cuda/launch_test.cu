// for_each_index on the device against the CPU; compiled as CUDA, as layers are.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "millrace/core/parallel.h"
#include "millrace/core/random.h"
#include "tests/support/cuda.h"

namespace millrace {
namespace {

class CudaLaunch : public test::CudaTest {};

template <class T>
struct Affine {
  const T* x;
  T* y;
  T scale;
  MILLRACE_HD void operator()(int64_t i) const { y[i] = scale * x[i] + T(1); }
};

struct Draw {
  uint64_t seed, stream;
  PhiloxBlock* blocks;
  uint64_t* bits;
  double* units;
  MILLRACE_HD void operator()(int64_t i) const {
    const auto index = static_cast<uint64_t>(i) * 0x123456789abcdefu;
    blocks[i] = philox(seed, stream, index);
    bits[i] = philox64(seed, stream, index);
    units[i] = to_unit(bits[i]);
  }
};

// Marks the indices from `first` on.
struct MarkFrom {
  int64_t first;
  uint8_t* marks;
  MILLRACE_HD void operator()(int64_t i) const {
    if (i >= first) ++marks[i - first];
  }
};

struct Place {
  int32_t* out;
  int64_t stride;
  MILLRACE_HD void operator()(int64_t row, int64_t column) const {
    out[row * stride + column] = static_cast<int32_t>(row * 1000 + column);
  }
};

// The sums of a row, and its values divided by the largest.
struct RowSums {
  const double* x;
  double* y;
  SumPair* sums;
  int64_t columns;
  template <class Lanes>
  MILLRACE_HD void operator()(int64_t row, const Lanes& lanes) const {
    const double* const in = x + row * columns;
    double* const out = y + row * columns;
    const double most = lanes.most(columns, [&](int64_t k) { return in[k]; });
    lanes.each(columns, [&](int64_t k) { out[k] = in[k] / most; });
    const SumPair sum = lanes.sum(columns, [&](int64_t k) { return SumPair{in[k], out[k]}; });
    if (lanes.first()) sums[row] = sum;
  }
};

TEST_F(CudaLaunch, ComputesWhatTheCpuComputes) {
  Executor executor(2);
  Context cpu(Device::cpu(), executor);
  for (const size_t count : {1u, 31u, 256u, 257u, 100'000u}) {
    // Small whole numbers, so that a fused multiply and add rounds alike.
    std::vector<float> x(count);
    for (size_t i = 0; i < count; ++i) x[i] = static_cast<float>(i % 1000) - 500;
    const Memory input = upload(x), output(context().device(), count * sizeof(float));
    for_each_index(context(), static_cast<int64_t>(count),
                   Affine<float>{static_cast<const float*>(input.data()), static_cast<float*>(output.data()), 0.5f});
    std::vector<float> expected(count);
    for_each_index(cpu, static_cast<int64_t>(count), Affine<float>{x.data(), expected.data(), 0.5f});
    EXPECT_EQ(download<float>(output.data(), count), expected) << count;
  }
}

TEST_F(CudaLaunch, TakesNoIndices) {
  for_each_index(context(), 0, Affine<float>{nullptr, nullptr, 1});
  for_each_index(context(), -1, Affine<float>{nullptr, nullptr, 1});
  context().synchronize();
}

TEST_F(CudaLaunch, TakesRowsAndColumns) {
  Memory memory = upload(std::vector<int32_t>(5 * 8, -1));
  for_each_row_column(context(), 5, 7, Place{static_cast<int32_t*>(memory.data()), 8});
  const auto out = download<int32_t>(memory.data(), 5 * 8);
  for (int32_t row = 0; row < 5; ++row) {
    for (int32_t column = 0; column < 8; ++column) {
      EXPECT_EQ(out[static_cast<size_t>(row * 8 + column)], column < 7 ? row * 1000 + column : -1);
    }
  }
}

TEST_F(CudaLaunch, ThreadsShareARow) {
  for (const int64_t columns : {1, 10, 300, 5000}) {
    const int64_t rows = 3;
    const auto x = test::random_values<double>(static_cast<size_t>(rows * columns), "x");
    std::vector<double> y(x.size());
    const Memory device_x = upload(x), device_y(context().device(), x.size() * sizeof(double)),
                 device_sums(context().device(), rows * sizeof(SumPair));
    const auto run = [&] {
      launch_rows(context(), rows, columns,
                  RowSums{static_cast<const double*>(device_x.data()), static_cast<double*>(device_y.data()),
                          static_cast<SumPair*>(device_sums.data()), columns});
      return download<SumPair>(device_sums.data(), rows);
    };
    const auto sums = run(), again = run();
    for (int64_t row = 0; row < rows; ++row) {
      const double* const in = x.data() + row * columns;
      const double most = *std::max_element(in, in + columns);
      double* const out = y.data() + row * columns;
      for (int64_t k = 0; k < columns; ++k) out[k] = in[k] / most;
      const auto at = static_cast<size_t>(row);
      EXPECT_NEAR(sums[at].first, std::accumulate(in, in + columns, 0.0), 1e-12 * static_cast<double>(columns));
      EXPECT_NEAR(sums[at].second, std::accumulate(out, out + columns, 0.0), 1e-12 * static_cast<double>(columns));
      EXPECT_EQ(sums[at].first, again[at].first) << "in the same order each time";
      EXPECT_EQ(sums[at].second, again[at].second);
    }
    EXPECT_EQ(download<double>(device_y.data(), x.size()), y) << columns;
  }
  launch_rows(context(), 0, 10, RowSums{});
}

// Also beyond 32 bits.
TEST_F(CudaLaunch, VisitsEveryIndexOnce) {
  for (const int64_t count : {int64_t{1000}, (int64_t{1} << 32) + 1000}) {
    if (test::kEmulated && count > 100'000) break;
    const Memory marks(context().device(), 2000);
    const int64_t first = std::max<int64_t>(0, count - 2000);
    for_each_index(context(), count, MarkFrom{first, static_cast<uint8_t*>(marks.data())});
    std::vector<uint8_t> expected(2000, 1);
    std::fill(expected.begin() + (count - first), expected.end(), 0);
    EXPECT_EQ(download<uint8_t>(marks.data(), 2000), expected) << count;
  }
}

// The largest grid is too large to go beyond it in a test.
TEST_F(CudaLaunch, StridesBeyondTheLargestGrid) {
  constexpr int64_t kBlocks = 3, kGrid = kBlocks * cuda::kLaunchThreads;
  for (const int64_t count : {kGrid - 1, kGrid, kGrid + 1, 4 * kGrid + 100}) {
    const Memory marks(context().device(), 4096);
    cuda::launch_for_each<kBlocks>(context().cuda(), count, MarkFrom{0, static_cast<uint8_t*>(marks.data())});
    std::vector<uint8_t> expected(4096, 0);
    std::fill(expected.begin(), expected.begin() + count, 1);
    EXPECT_EQ(download<uint8_t>(marks.data(), 4096), expected) << count;
  }
}

TEST_F(CudaLaunch, DrawsTheNumbersOfTheHost) {
  constexpr int64_t kCount = 5000;
  const Memory blocks(context().device(), kCount * sizeof(PhiloxBlock)),
      bits(context().device(), kCount * sizeof(uint64_t));
  const Memory units(context().device(), kCount * sizeof(double));
  Draw draw{0x0123456789abcdefu, fnv1a64("dropout"), static_cast<PhiloxBlock*>(blocks.data()),
            static_cast<uint64_t*>(bits.data()), static_cast<double*>(units.data())};
  for_each_index(context(), kCount, draw);
  const auto device_words = download<uint32_t>(blocks.data(), kCount * 4);
  const auto device_bits = download<uint64_t>(bits.data(), kCount);
  const auto device_units = download<double>(units.data(), kCount);

  std::vector<PhiloxBlock> host_blocks(kCount);
  std::vector<uint64_t> host_bits(kCount);
  std::vector<double> host_units(kCount);
  draw.blocks = host_blocks.data();
  draw.bits = host_bits.data();
  draw.units = host_units.data();
  for (int64_t i = 0; i < kCount; ++i) draw(i);
  EXPECT_EQ(device_bits, host_bits);
  EXPECT_EQ(device_units, host_units);
  EXPECT_EQ(std::memcmp(device_words.data(), host_blocks.data(), kCount * sizeof(PhiloxBlock)), 0);
}

}  // namespace
}  // namespace millrace
