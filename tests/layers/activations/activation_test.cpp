#include "millrace/layers/activations/activation.h"

#include <gtest/gtest.h>

#include <cmath>

#include "millrace/core/kernels/reduce.h"
#include "tests/layers/cuda/device_tensor.h"
#include "tests/layers/gradient_check.h"
#include "tests/layers/layer_run.h"
#include "tests/support/cuda.h"

namespace millrace::testing {
namespace {

double written_down(Activation activation, double z) {
  switch (activation) {
    case Activation::none: return z;
    case Activation::relu: return z > 0 ? z : 0;
    case Activation::tanh: return std::tanh(z);
    case Activation::gelu: return z * 0.5 * std::erfc(-z / std::sqrt(2.0));
    case Activation::sigmoid: return 1 / (1 + std::exp(-z));
  }
  return 0;
}

class ActivationTest : public ::testing::TestWithParam<Activation> {
 protected:
  Tensor tensor(const std::vector<double>& values) const {
    Tensor out(Device::cpu(), {Shape{2, 3}, DType::f64}, Tensor::Rows::padded);
    write_values(out.view(), values);
    return out;
  }
  const std::vector<double> z_{-3, -0.5, 0.25, 1, 2, 7};
  Executor executor_{2};
  Context context_{Device::cpu(), executor_};
};

class CudaActivation : public test::CudaTest, public ::testing::WithParamInterface<Activation> {};

TEST_P(ActivationTest, IsWhatItIsCalledAlsoInPlace) {
  Tensor z = tensor(z_);
  Tensor y = tensor(nans(6));
  activate(context_, GetParam(), z.view(), y.view());
  activate(context_, GetParam(), z.view(), z.view());
  for (size_t i = 0; i < z_.size(); ++i) {
    EXPECT_NEAR(read_values(y.view())[i], written_down(GetParam(), z_[i]), 1e-15) << z_[i];
  }
  EXPECT_EQ(read_values(z.view()), read_values(y.view()));
}

TEST_P(ActivationTest, KeepsNan) {
  Tensor y = tensor(nans(6));
  activate(context_, GetParam(), y.view(), y.view());
  for (const double value : read_values(y.view())) EXPECT_TRUE(std::isnan(value));
}

TEST_P(ActivationTest, HasTheGradientOfItsDifferencesWhereTheDestinationSays) {
  const Tensor z = tensor(z_);
  Tensor y = tensor(nans(6));
  activate(context_, GetParam(), z.view(), y.view());
  const Tensor dy = tensor({1, 2, 3, 4, 5, 6});
  Tensor dz = tensor({10, 10, 10, 10, 10, 10});
  const float alpha = -2;
  const bool reads_z = gradient_reads(GetParam()) == GradientReads::z;
  activation_gradient(context_, GetParam(), (reads_z ? z : y).view(), dy.view(),
                      {.view = dz.view(), .beta = 1, .alpha = &alpha});
  constexpr double step = 1e-5;
  for (size_t i = 0; i < z_.size(); ++i) {
    const double slope = (written_down(GetParam(), z_[i] + step) - written_down(GetParam(), z_[i] - step)) / (2 * step);
    EXPECT_NEAR(read_values(dz.view())[i], 10 - 2 * static_cast<double>(i + 1) * slope, 1e-8) << z_[i];
  }
}

TEST_P(ActivationTest, HasTheSumsOfItsGradientsColumns) {
  const Tensor value = tensor(z_), dy = tensor({1, 2, 3, 4, 5, 6});
  Tensor apart = tensor(nans(6)), dz = tensor(nans(6)), sums(Device::cpu(), {Shape{3}, DType::f64});
  write_values(sums.view(), {1, 2, 3});
  activation_gradient(context_, GetParam(), value.view(), dy.view(), {.view = apart.view()});
  const std::vector<double> expected = read_values(apart.view());
  std::vector<std::byte> scratch(column_sum_scratch(dz.view().spec()));
  activation_gradient(context_, GetParam(), value.view(), dy.view(), {.view = dz.view()},
                      {.view = sums.view(), .beta = 1}, scratch.data());
  EXPECT_EQ(read_values(dz.view()), expected);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(read_values(sums.view())[i], static_cast<double>(i + 1) + expected[i] + expected[i + 3], 1e-14);
  }
}

// As on the CPU, in one pass; more rows than a block of threads adds up, too.
TEST_P(CudaActivation, HasTheSumsOfItsGradientsColumns) {
  Executor executor(2);
  Context cpu(Device::cpu(), executor);
  for (const int64_t batch : {3, 256, 1500}) {
    std::vector<std::vector<double>> found;
    for (Context* on : {&context(), &cpu}) {
      const TensorSpec rows{Shape{batch, 37}, DType::f32};
      DeviceTensor value(*on, rows), dy(*on, rows), dz(*on, rows), sums(*on, {Shape{1, 37}, DType::f32});
      value.write(draws("value", batch * 37));
      dy.write(draws("dy", batch * 37));
      sums.write(draws("sums", 37));
      const Memory scratch(on->device(), column_sum_scratch(rows));
      activation_gradient(*on, GetParam(), value.view(), dy.view(), {.view = dz.view()},
                          {.view = TensorView(sums.view().data(), DType::f32, Shape{37}), .beta = 1}, scratch.data());
      found.push_back(dz.read());
      found.push_back(sums.read());
    }
    expect_close(found[0], found[2], 1e-6, "dz");
    expect_close(found[1], found[3], 1e-4, "sums");
  }
}

INSTANTIATE_TEST_SUITE_P(Cuda, CudaActivation,
                         ::testing::Values(Activation::relu, Activation::tanh, Activation::gelu, Activation::sigmoid),
                         [](const auto& of) { return OptionType<Activation>::write(of.param).as_string(); });
INSTANTIATE_TEST_SUITE_P(All, ActivationTest,
                         ::testing::Values(Activation::relu, Activation::tanh, Activation::gelu, Activation::sigmoid),
                         [](const auto& of) { return OptionType<Activation>::write(of.param).as_string(); });

TEST(Activation, SaysWhatAProductComputesAndWhatGradientsRead) {
  EXPECT_EQ(fused_activation(Activation::none), FusedActivation::none);
  EXPECT_EQ(fused_activation(Activation::relu), FusedActivation::relu);
  EXPECT_EQ(fused_activation(Activation::gelu), FusedActivation::none);
  EXPECT_EQ(gradient_reads(Activation::none), GradientReads::nothing);
  EXPECT_EQ(gradient_reads(Activation::relu), GradientReads::y);
  EXPECT_EQ(gradient_reads(Activation::tanh), GradientReads::y);
  EXPECT_EQ(gradient_reads(Activation::gelu), GradientReads::z);
  EXPECT_EQ(gradient_reads(Activation::sigmoid), GradientReads::y);
}

}  // namespace
}  // namespace millrace::testing
