#include "millrace/layers/inputs/widen.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/layers/layer_run.h"
#include "tests/support/cuda.h"

namespace millrace::testing {
namespace {

std::vector<double> bytes(int64_t count) {
  std::vector<double> out;
  for (int64_t i = 0; i < count; ++i) out.push_back(static_cast<double>(i * 7 % 256));
  return out;
}

TEST(Widen, GivesEveryByteItsNumber) {
  for (const int threads : {1, 3}) {
    Executor executor(threads);
    Context context(Device::cpu(), executor);
    for (const int64_t columns : {1, 16, 100, 1000}) {
      for (const Tensor::Rows rows : {Tensor::Rows::contiguous, Tensor::Rows::padded}) {
        Tensor from(Device::cpu(), {{70, columns}, DType::u8}, rows),
            to(Device::cpu(), {{70, columns}, DType::f32}, rows);
        write_values(from.view(), bytes(70 * columns));
        write_values(to.view(), nans(70 * columns));
        widen(context, from.view(), to.view());
        EXPECT_EQ(read_values(to.view()), bytes(70 * columns)) << columns << " on " << threads;
        const TensorView view = to.view();
        for (int64_t i = columns; i < view.stride(); ++i) EXPECT_TRUE(std::isnan(view.as<float>()[i])) << "padding";
      }
    }
  }
}

class CudaWiden : public test::CudaTest {};

TEST_F(CudaWiden, GivesWhatTheCpuGives) {
  for (const int64_t columns : {1, 100, 1000}) {
    const int64_t from_stride = columns + 28, to_stride = columns + 4, rows = 9;
    std::vector<uint8_t> values(static_cast<size_t>(rows * from_stride));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint8_t>(i * 7);
    const Memory from = upload(values);
    const Memory to = upload(std::vector<float>(static_cast<size_t>(rows * to_stride), -1));
    const Shape shape = {rows, columns};
    widen(context(), ConstTensorView(from.data(), DType::u8, shape, static_cast<size_t>(from_stride)),
          TensorView(to.data(), DType::f32, shape, static_cast<size_t>(to_stride) * sizeof(float)));
    const std::vector<float> got = download<float>(to.data(), static_cast<size_t>(rows * to_stride));
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t i = 0; i < to_stride; ++i) {
        const auto expected = i < columns ? values[static_cast<size_t>(row * from_stride + i)] : -1.0F;
        ASSERT_EQ(got[static_cast<size_t>(row * to_stride + i)], expected) << row << ' ' << i;
      }
    }
  }
}

}  // namespace
}  // namespace millrace::testing
