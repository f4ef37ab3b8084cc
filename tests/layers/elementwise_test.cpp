#include "millrace/layers/simple_layer.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/layers/layer_run.h"

namespace millrace {
namespace {

struct Double {
  template <class T>
  MILLRACE_HD T operator()(T x) const {
    return x + x;
  }
};

struct Difference {
  template <class T>
  MILLRACE_HD T operator()(T a, T b) const {
    return a - b;
  }
};

struct AddIndex {
  template <class T>
  MILLRACE_HD T operator()(T x, int64_t i) const {
    return x + static_cast<T>(100 * i);
  }
};

struct DifferenceAndIndex {
  template <class T>
  MILLRACE_HD T operator()(T a, T b, int64_t i) const {
    return a - b + static_cast<T>(100 * i);
  }
};

}  // namespace
}  // namespace millrace

namespace millrace::testing {
namespace {

class ElementwiseTest : public ::testing::TestWithParam<DType> {
 protected:
  Tensor tensor(const std::vector<double>& values, Tensor::Rows rows) const {
    Tensor out(Device::cpu(), {Shape{2, 3}, GetParam()}, rows);
    write_values(out.view(), values);
    return out;
  }
  Executor executor_{2};
  Context context_{Device::cpu(), executor_};
};

TEST_P(ElementwiseTest, MapsBetweenDifferentStrides) {
  const Tensor x = tensor({1, 2, 3, 4, 5, 6}, Tensor::Rows::contiguous);
  Tensor y = tensor(nans(6), Tensor::Rows::padded);
  map_elements(context_, x.view(), y.view(), Double{});
  EXPECT_EQ(read_values(y.view()), (std::vector<double>{2, 4, 6, 8, 10, 12}));
}

TEST_P(ElementwiseTest, ZipsBetweenDifferentStrides) {
  const Tensor a = tensor({1, 2, 3, 4, 5, 6}, Tensor::Rows::padded);
  const Tensor b = tensor({6, 5, 4, 3, 2, 1}, Tensor::Rows::contiguous);
  Tensor y = tensor(nans(6), Tensor::Rows::padded);
  zip_elements(context_, a.view(), b.view(), y.view(), Difference{});
  EXPECT_EQ(read_values(y.view()), (std::vector<double>{-5, -3, -1, 1, 3, 5}));
}

TEST_P(ElementwiseTest, WritesOverAnOperand) {
  Tensor a = tensor({1, 2, 3, 4, 5, 6}, Tensor::Rows::padded);
  zip_elements(context_, a.view(), a.view(), a.view(), Difference{});
  EXPECT_EQ(read_values(a.view()), filled(6, 0));
}

TEST_P(ElementwiseTest, LeavesPaddingAlone) {
  const Tensor x = tensor({1, 2, 3, 4, 5, 6}, Tensor::Rows::padded);
  Tensor y(Device::cpu(), {Shape{2, 3}, GetParam()}, Tensor::Rows::padded);
  map_elements(context_, x.view(), y.view(), Double{});
  const TensorView whole(y.view().data(), GetParam(), Shape{2 * y.view().stride()});
  const std::vector<double> values = read_values(whole);
  for (size_t i = 3; i < values.size() / 2; ++i) EXPECT_EQ(values[i], 0) << i;
}

TEST_P(ElementwiseTest, AddsAndScalesAsTheDestinationSays) {
  const Tensor x = tensor({1, 2, 3, 4, 5, 6}, Tensor::Rows::padded);
  Tensor y = tensor({10, 10, 10, 20, 20, 20}, Tensor::Rows::contiguous);
  float alpha = -0.5F;
  const Destination destination{.view = y.view(), .beta = 1, .alpha = &alpha};
  map_elements(context_, x.view(), destination, Double{});
  EXPECT_EQ(read_values(y.view()), (std::vector<double>{9, 8, 7, 16, 15, 14}));
  alpha = 0;
  map_elements(context_, x.view(), destination, Double{});
  EXPECT_EQ(read_values(y.view()), (std::vector<double>{9, 8, 7, 16, 15, 14}));
  map_elements(context_, x.view(), {.view = y.view()}, Double{});
  EXPECT_EQ(read_values(y.view()), (std::vector<double>{2, 4, 6, 8, 10, 12}));
  zip_elements(context_, x.view(), y.view(), {.view = y.view(), .beta = 1}, Difference{});
  EXPECT_EQ(read_values(y.view()), (std::vector<double>{1, 2, 3, 4, 5, 6}));
}

TEST_P(ElementwiseTest, CopiesWhateverTheValues) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const Tensor x = tensor({1, -infinity, 3, 4, 0.5, infinity}, Tensor::Rows::contiguous);
  Tensor y = tensor(nans(6), Tensor::Rows::padded);
  copy_elements(context_, x.view(), y.view());
  EXPECT_EQ(read_values(y.view()), read_values(x.view()));
  const float alpha = -0.5F;
  copy_elements(context_, tensor({1, 2, 3, 4, 5, 6}, Tensor::Rows::padded).view(),
                Destination{.view = y.view(), .beta = 1, .alpha = &alpha});
  EXPECT_EQ(read_values(y.view()), (std::vector<double>{0.5, -infinity, 1.5, 2, -2, infinity}));
}

TEST_P(ElementwiseTest, CountsValuesWithoutPadding) {
  const Tensor a = tensor({1, 2, 3, 4, 5, 6}, Tensor::Rows::padded);
  const Tensor b = tensor({6, 5, 4, 3, 2, 1}, Tensor::Rows::contiguous);
  Tensor y = tensor(nans(6), Tensor::Rows::padded);
  map_indexed(context_, a.view(), y.view(), AddIndex{});
  EXPECT_EQ(read_values(y.view()), (std::vector<double>{1, 102, 203, 304, 405, 506}));
  zip_indexed(context_, a.view(), b.view(), y.view(), DifferenceAndIndex{});
  EXPECT_EQ(read_values(y.view()), (std::vector<double>{-5, 97, 199, 301, 403, 505}));
  const float alpha = 2;
  const Destination added{.view = y.view(), .beta = 1, .alpha = &alpha};
  map_indexed(context_, a.view(), added, AddIndex{});
  zip_indexed(context_, a.view(), b.view(), added, DifferenceAndIndex{});
  EXPECT_EQ(read_values(y.view()), (std::vector<double>{-13, 495, 1003, 1511, 2019, 2527}));
}

INSTANTIATE_TEST_SUITE_P(Floats, ElementwiseTest, ::testing::Values(DType::f32, DType::f64),
                         [](const auto& param) { return std::string(to_string(param.param)); });

TEST(DispatchFloat, RefusesOtherTypes) {
  int calls = 0;
  dispatch_float(DType::f32, [&]<class T>() { calls += sizeof(T) == 4; });
  dispatch_float(DType::f64, [&]<class T>() { calls += sizeof(T) == 8; });
  EXPECT_EQ(calls, 2);
  try {
    dispatch_float(DType::i32, [&]<class T>() { ++calls; });
    FAIL();
  } catch (const InternalError& error) {
    EXPECT_STREQ(error.what(), "no kernel for int32 values");
  }
}

}  // namespace
}  // namespace millrace::testing
