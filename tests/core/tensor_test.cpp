#include "millrace/core/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "millrace/core/errors.h"
#include "tests/support/sanitized.h"

namespace millrace {
namespace {

using testing::HasSubstr;

TEST(DType, HasSizesAndNames) {
  EXPECT_EQ(size_of(DType::f32), 4u);
  EXPECT_EQ(size_of(DType::f64), 8u);
  EXPECT_EQ(size_of(DType::i32), 4u);
  EXPECT_EQ(size_of(DType::i64), 8u);
  EXPECT_EQ(size_of(DType::u8), 1u);
  EXPECT_EQ(to_string(DType::f32), "float32");
  EXPECT_EQ(to_string(DType::f64), "float64");
  EXPECT_EQ(to_string(DType::i32), "int32");
  EXPECT_EQ(to_string(DType::i64), "int64");
  EXPECT_EQ(to_string(DType::u8), "uint8");
  EXPECT_EQ(DTypeOf<int64_t>::value, DType::i64);
}

TEST(DType, OfAnotherNumberHasNeither) {
  constexpr auto kOdd = static_cast<DType>(99);
  EXPECT_THROW((void)size_of(kOdd), InternalError);
  EXPECT_THROW((void)to_string(kOdd), InternalError);
}

TEST(Shape, CountsItsElements) {
  EXPECT_EQ(Shape().elements(), 1);
  EXPECT_EQ(Shape().rank(), 0);
  EXPECT_EQ((Shape{3, 4, 5}).elements(), 60);
  EXPECT_EQ((Shape{3, 0, 5}).elements(), 0);
  EXPECT_EQ((Shape{int64_t{1} << 59, 0}).elements(), 0);
  EXPECT_EQ((Shape{3, 4, 5})[1], 4);
}

TEST(Shape, AddsAndRemovesTheBatchAxis) {
  EXPECT_EQ((Shape{4, 5}).with_batch(3), (Shape{3, 4, 5}));
  EXPECT_EQ((Shape{3, 4, 5}).row(), (Shape{4, 5}));
  EXPECT_EQ(Shape().with_batch(7), Shape{7});
  EXPECT_EQ(Shape{7}.row(), Shape());
}

TEST(Shape, ComparesRankAndSizes) {
  EXPECT_EQ((Shape{3, 4}), (Shape{3, 4}));
  EXPECT_FALSE((Shape{3, 4}) == (Shape{3, 5}));
  EXPECT_FALSE((Shape{3}) == (Shape{3, 1}));
}

TEST(Shape, IsWrittenInBrackets) {
  EXPECT_EQ((Shape{256, 1024}).text(), "(256, 1024)");
  EXPECT_EQ(Shape{7}.text(), "(7)");
  EXPECT_EQ(Shape().text(), "()");
  EXPECT_EQ((TensorSpec{{1024}, DType::f32}).text(), "float32 (1024)");
}

template <class F>
std::string shape_error(F make) {
  try {
    make();
  } catch (const ShapeError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Shape, RejectsWhatItCannotHold) {
  EXPECT_EQ(shape_error([] { Shape{1, 2, 3, 4, 5, 6, 7}; }), "a shape has at most 6 dimensions, got 7");
  EXPECT_EQ(shape_error([] {
              (Shape{1, 2, 3, 4, 5, 6}).with_batch(2);
            }),
            "a shape has at most 6 dimensions with the batch");
  EXPECT_EQ(shape_error([] { Shape{3, -1}; }), "a dimension cannot be negative, got (3, -1)");
  EXPECT_EQ(shape_error([] {
              Shape{int64_t{1} << 40, int64_t{1} << 40};
            }),
            "the shape (1099511627776, 1099511627776) has too many elements");
  EXPECT_EQ(shape_error([] { Shape{int64_t{1} << 40}.with_batch(int64_t{1} << 40); }),
            "the shape (1099511627776, 1099511627776) has too many elements");
  // Without its 0 this one is a row that nothing could count.
  EXPECT_EQ(shape_error([] {
              Shape{0, int64_t{1} << 40, int64_t{1} << 40};
            }),
            "the shape (0, 1099511627776, 1099511627776) has too many elements");
}

TEST(Alignment, RoundsUpToAMultipleOf64) {
  EXPECT_EQ(aligned_bytes(0), 0u);
  EXPECT_EQ(aligned_bytes(1), 64u);
  EXPECT_EQ(aligned_bytes(64), 64u);
  EXPECT_EQ(aligned_bytes(65), 128u);
}

TEST(TensorView, KnowsItsStrides) {
  std::vector<float> data(64);
  const TensorView dense(data.data(), DType::f32, {4, 3});
  EXPECT_EQ(dense.row_bytes(), 12u);
  EXPECT_EQ(dense.stride(), 3);
  EXPECT_EQ(dense.rows(), 4);
  EXPECT_EQ(dense.columns(), 3);
  EXPECT_EQ(dense.elements(), 12);
  EXPECT_TRUE(dense.contiguous());
  const TensorView padded(data.data(), DType::f32, {4, 3}, 64);
  EXPECT_EQ(padded.stride(), 16);
  EXPECT_FALSE(padded.contiguous());
  EXPECT_EQ(padded.first_rows(2).shape(), (Shape{2, 3}));
  EXPECT_EQ(padded.first_rows(2).row_bytes(), 64u);
  const TensorView elsewhere = padded.at(data.data() + 16);
  EXPECT_EQ(elsewhere.data(), data.data() + 16);
  EXPECT_EQ(elsewhere.spec(), padded.spec());
  EXPECT_EQ(elsewhere.row_bytes(), 64u);
}

TEST(TensorView, OfRankZeroIsOneElement) {
  double value = 3;
  const TensorView view(&value, DType::f64, {});
  EXPECT_EQ(view.rows(), 1);
  EXPECT_EQ(view.columns(), 1);
  EXPECT_EQ(view.stride(), 1);
  EXPECT_TRUE(view.contiguous());
  EXPECT_EQ(*view.as<double>(), 3);
}

TEST(TensorView, BecomesConst) {
  float value = 5;
  const TensorView view(&value, DType::f32, {1}, 64);
  const ConstTensorView constant = view;
  EXPECT_EQ(constant.data(), &value);
  EXPECT_EQ(constant.row_bytes(), 64u);
  EXPECT_TRUE((std::is_same_v<decltype(constant.as<float>()), const float*>));
  EXPECT_FALSE((std::is_convertible_v<ConstTensorView, TensorView>));
  EXPECT_FALSE(static_cast<bool>(TensorView()));
}

TEST(Tensor, IsZeroFilledAlignedMemory) {
  Tensor tensor(Device::cpu(), {{5, 3}, DType::f32});
  ASSERT_NE(tensor.view().data(), nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.view().data()) % kRowAlignment, 0u);
  for (int i = 0; i < 15; ++i) EXPECT_EQ(tensor.view().as<float>()[i], 0.0f);
  EXPECT_TRUE(tensor.view().contiguous());
}

TEST(Tensor, PadsRowsTo64Bytes) {
  Tensor tensor(Device::cpu(), {{5, 17}, DType::f32}, Tensor::Rows::padded);
  EXPECT_EQ(tensor.view().row_bytes(), 128u);
  auto* data = tensor.view().as<float>();
  for (int64_t row = 0; row < 5; ++row) data[row * tensor.view().stride() + 16] = static_cast<float>(row);
  EXPECT_EQ(data[4 * 32 + 16], 4.0f);
}

TEST(Tensor, MovesWithItsMemory) {
  Tensor from(Device::cpu(), {{2}, DType::i32});
  const void* data = from.view().data();
  const Tensor to = std::move(from);
  EXPECT_EQ(to.view().data(), data);
  EXPECT_EQ(to.spec(), (TensorSpec{{2}, DType::i32}));
  EXPECT_FALSE(std::is_copy_constructible_v<Tensor>);
}

TEST(Tensor, CountsThePaddingOfItsRows) {
  // A byte a row: with padding, 2^65 bytes.
  constexpr int64_t rows = int64_t{1} << 59;
  EXPECT_EQ(shape_error([&] {
              Tensor(Device::cpu(), {{rows}, DType::u8}, Tensor::Rows::padded);
            }),
            "64 * 576460752303423488 bytes are more than memory can hold");
  EXPECT_EQ(TensorView(nullptr, DType::u8, {rows}).bytes(), size_t{1} << 59);
  EXPECT_EQ(TensorView(nullptr, DType::f32, {4, 3}, 64).bytes(), 256u);
}

TEST(Tensor, OfNoRowsHasNoMemory) {
  const Tensor tensor(Device::cpu(), {{0, 4}, DType::f32});
  EXPECT_EQ(tensor.view().data(), nullptr);
  EXPECT_EQ(tensor.view().elements(), 0);
}

TEST(Tensor, SaysHowMuchMemoryWasMissing) {
  if (test::kSanitized) GTEST_SKIP() << "sanitizers end the process when memory runs out";
  try {
    Tensor tensor(Device::cpu(), {{int64_t{1} << 28, int64_t{1} << 28}, DType::f32});
    FAIL();
  } catch (const InternalError& error) {
    EXPECT_THAT(error.what(), HasSubstr("out of memory: 288230376151711744 bytes on cpu"));
  }
}

}  // namespace
}  // namespace millrace
