// Products on the device against plain sums in double, in every layout.
#include "millrace/core/kernels/gemm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "millrace/core/errors.h"
#include "tests/core/kernels/gemm_check.h"
#include "tests/support/cuda.h"

#if defined(MILLRACE_CUDA_EMULATED)
#include <cublasLt.h>

#include "tests/emulated_gpu/emulated_gpu.h"
#endif

namespace millrace {
namespace {

using millrace::testing::GemmData;

class CudaGemm : public test::CudaTest {
 protected:
  template <class T>
  std::vector<T> run(Gemm& gemm, const GemmData<T>& data) {
    const Memory a = upload(data.a), b = upload(data.b), c = upload(data.c), bias = upload(data.bias);
    const Memory alpha = upload(std::vector<float>{data.alpha});
    gemm.run(context(), {a.data(), b.data(), c.data(), data.spec.bias ? bias.data() : nullptr,
                         data.give_alpha ? static_cast<const float*>(alpha.data()) : nullptr});
    return download<T>(c.data(), data.c.size());
  }

  template <class T>
  void check_forms(int64_t m, int64_t n, int64_t k) {
    for (int form = 0; form < 64; ++form) {
      GemmSpec spec{.m = m, .n = n, .k = k, .dtype = DTypeOf<T>::value};
      spec.transpose_a = (form & 1) != 0;
      spec.transpose_b = (form & 2) != 0;
      spec.beta = (form & 4) != 0 ? 1.0f : 0.0f;
      spec.bias = (form & 8) != 0;
      spec.activation = (form & 16) != 0 ? FusedActivation::relu : FusedActivation::none;
      for (const int64_t padding : {0, 3, 16}) {
        GemmData<T> data(spec, padding, static_cast<uint64_t>(form));
        data.give_alpha = (form & 32) != 0;
        data.alpha = -0.25f;
        const auto gemm = make_gemm(context(), data.spec);
        ASSERT_TRUE(data.holds(run(*gemm, data))) << (data.give_alpha ? "alpha on the device" : "no alpha");
      }
    }
  }
};

TEST_F(CudaGemm, MultipliesByHand) {
  // [1 2 3; 4 5 6] * [1 0; 2 1; 0 -9] + [0.5 -1], then relu.
  const Memory a = upload<float>({1, 2, 3, 4, 5, 6}), b = upload<float>({1, 0, 2, 1, 0, -9}),
               bias = upload<float>({0.5, -1});
  const Memory c = upload(std::vector<float>(4, 7));
  const auto gemm = make_gemm(context(), {.m = 2, .n = 2, .k = 3, .bias = true, .activation = FusedActivation::relu});
  gemm->run(context(), {a.data(), b.data(), c.data(), bias.data(), nullptr});
  EXPECT_EQ(download<float>(c.data(), 4), (std::vector<float>{5.5, 0, 14.5, 0}));
}

TEST_F(CudaGemm, HoldsInEveryForm) {
  check_forms<float>(2, 3, 4);
  check_forms<float>(23, 17, 33);
  check_forms<float>(64, 128, 96);
}

TEST_F(CudaGemm, HoldsWhereOneSizeIsOne) {
  check_forms<float>(1, 40, 50);
  check_forms<float>(40, 1, 50);
  check_forms<float>(40, 50, 1);
  check_forms<float>(1, 1, 1);
  check_forms<double>(3, 1, 20);
}

TEST_F(CudaGemm, HoldsInDouble) {
  check_forms<double>(5, 7, 9);
  check_forms<double>(33, 1, 20);
}

TEST_F(CudaGemm, IsStrictFloat32OnLargeProducts) {
  for (const auto& [m, n, k] : {std::tuple{256, 1024, 1024}, {1024, 1024, 256}, {23, 1024, 1024}, {256, 1, 1024}}) {
    GemmData<float> data({.m = m, .n = n, .k = k}, 0, 3);
    const auto gemm = make_gemm(context(), data.spec);
    // The rounding of TF32 is a thousand times larger than what this allows.
    ASSERT_TRUE(data.holds(run(*gemm, data)));
  }
}

TEST_F(CudaGemm, RoundsFactorsOnlyWhereThatIsAllowed) {
  const int64_t m = 48, n = 40, k = 500;
  const auto a = test::random_values<float>(static_cast<size_t>(m * k), "a");
  const auto b = test::random_values<float>(static_cast<size_t>(k * n), "b");
  Context rounding(context().device(), context().executor(), Precision::tf32);
  std::vector<double> errors;
  for (Context* on : {&context(), &rounding}) {
    const Memory first = upload(a), second = upload(b), c(on->device(), static_cast<size_t>(m * n) * sizeof(float));
    context().synchronize();  // where `on` is another
    const auto gemm = make_gemm(*on, {.m = m, .n = n, .k = k});
    gemm->run(*on, {.a = first.data(), .b = second.data(), .c = c.data()});
    on->synchronize();
    const auto found = download<float>(c.data(), static_cast<size_t>(m * n));
    double worst = 0;
    for (int64_t i = 0; i < m * n; ++i) {
      double sum = 0;
      for (int64_t l = 0; l < k; ++l) {
        sum += static_cast<double>(a[static_cast<size_t>(i / n * k + l)]) *
               static_cast<double>(b[static_cast<size_t>(l * n + i % n)]);
      }
      worst = std::max(worst, std::abs(static_cast<double>(found[static_cast<size_t>(i)]) - sum));
    }
    errors.push_back(worst);
  }
  EXPECT_LT(errors[0], 2e-5);
  EXPECT_LT(errors[1], 2e-2);
  // Some GPUs know no TF32.
  if (test::kEmulated) {
    EXPECT_GT(errors[1], 1e-4);
  }
}

TEST_F(CudaGemm, GivesTheSameBitsEveryTime) {
  for (const auto& [m, n, k] : {std::tuple{256, 1024, 1024}, {16, 16, 50'000}, {1024, 1, 256}}) {
    GemmData<float> data({.m = m, .n = n, .k = k, .transpose_a = true}, 0, 4);
    std::vector<float> first;
    for (int plan = 0; plan < 3; ++plan) {
      const auto gemm = make_gemm(context(), data.spec);
      for (int round = 0; round < 5; ++round) {
        const auto result = run(*gemm, data);
        if (first.empty()) first = result;
        ASSERT_EQ(test::bytes_of(result), test::bytes_of(first));
      }
    }
  }
}

TEST_F(CudaGemm, ReadsAlphaWhenItRuns) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const auto check = [&]<class T>(GemmData<T> data) {
      data.give_alpha = true;
      const auto gemm = make_gemm(context(), data.spec);
      for (const float alpha : {1.0f, -0.125f, 0.0f}) {
        data.alpha = alpha;
        EXPECT_TRUE(data.holds(run(*gemm, data))) << alpha;
      }
    };
    const GemmSpec spec{.m = 30, .n = 20, .k = 10, .dtype = dtype, .beta = 1};
    if (dtype == DType::f32) {
      check(GemmData<float>(spec, 0, 1));
    } else {
      check(GemmData<double>(spec, 0, 1));
    }
  }
}

TEST_F(CudaGemm, KeepsInfinitiesAndNaN) {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (const bool with_bias : {false, true}) {
    const Memory a = upload<float>({infinity, 1}), b = upload<float>({1, -1, nan, 2, 3, 4});
    const Memory bias = upload<float>({1, 1, 1}), c = upload(std::vector<float>(3, 0));
    const auto gemm =
        make_gemm(context(), {.m = 1, .n = 3, .k = 2, .bias = with_bias, .activation = FusedActivation::relu});
    gemm->run(context(), {a.data(), b.data(), c.data(), with_bias ? bias.data() : nullptr, nullptr});
    const auto result = download<float>(c.data(), 3);
    EXPECT_EQ(result[0], infinity);
    EXPECT_EQ(result[1], 0);
    EXPECT_TRUE(std::isnan(result[2])) << "a NaN must show, also behind a rectifier";
  }
}

#if defined(MILLRACE_CUDA_EMULATED)
// Another way has other bits: it is for products that the library never has this one for.
TEST_F(CudaGemm, GoesAnotherWayOnlyWhereThereIsNone) {
  const GemmSpec with_bias = {.m = 4, .n = 4, .k = 4, .bias = true}, plain = {.m = 4, .n = 4, .k = 4};
  Context rounding(context().device(), context().executor(), Precision::tf32);
  const auto make = [&](cublasStatus_t status, Context& on, const GemmSpec& spec) {
    emulation::fail_next_plan(status);
    static_cast<void>(make_gemm(on, spec));
  };
  for (const cublasStatus_t status :
       {CUBLAS_STATUS_ALLOC_FAILED, CUBLAS_STATUS_INTERNAL_ERROR, CUBLAS_STATUS_INVALID_VALUE}) {
    EXPECT_THROW(make(status, context(), with_bias), DeviceError) << status;
    EXPECT_THROW(make(status, rounding, plain), DeviceError) << status;
  }
  for (const cublasStatus_t status : {CUBLAS_STATUS_NOT_SUPPORTED, CUBLAS_STATUS_ARCH_MISMATCH}) {
    EXPECT_NO_THROW(make(status, context(), with_bias)) << status;
    EXPECT_NO_THROW(make(status, rounding, plain)) << status;
  }
}
#endif

TEST_F(CudaGemm, RefusesAddressesThatItWasNotPlannedFor) {
  const Memory memory(context().device(), 4096);
  auto* values = static_cast<float*>(memory.data());
  const auto gemm = make_gemm(context(), {.m = 4, .n = 4, .k = 4});
  try {
    gemm->run(context(), {values, values + 65, values + 128, nullptr, nullptr});
    FAIL();
  } catch (const InternalError& error) {
    EXPECT_STREQ(error.what(), "a matrix product on cuda:0 needs addresses that are multiples of 16 bytes");
  }
}

}  // namespace
}  // namespace millrace
