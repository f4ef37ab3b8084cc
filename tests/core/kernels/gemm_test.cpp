#include "millrace/core/kernels/gemm.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/core/kernels/gemm_check.h"
#include "tests/support/openmp.h"

namespace millrace {
namespace {

using testing::GemmData;

TEST(Gemm, MultipliesByHand) {
  Executor executor(2);
  Context context(Device::cpu(), executor);
  // [1 2 3; 4 5 6] * [1 0; 2 1; 0 -9] + [0.5 -1], then relu.
  const std::vector<float> a = {1, 2, 3, 4, 5, 6}, b = {1, 0, 2, 1, 0, -9}, bias = {0.5, -1};
  std::vector<float> c(4);
  const auto gemm = make_gemm(context, {.m = 2, .n = 2, .k = 3, .bias = true, .activation = FusedActivation::relu});
  gemm->run(context, {a.data(), b.data(), c.data(), bias.data(), nullptr});
  EXPECT_EQ(c, (std::vector<float>{5.5, 0, 14.5, 0}));

  // The same a with b stored as (n, k), into what is there: c += -0.5 a b.
  const std::vector<double> a64(a.begin(), a.end()), bt = {1, 2, 0, 0, 1, -9};
  std::vector<double> c64 = {10, 20, 30, 40};
  const float alpha = -0.5f;
  const auto add = make_gemm(context, {.m = 2, .n = 2, .k = 3, .dtype = DType::f64, .transpose_b = true, .beta = 1});
  add->run(context, {a64.data(), bt.data(), c64.data(), nullptr, &alpha});
  EXPECT_EQ(c64, (std::vector<double>{7.5, 32.5, 23, 64.5}));
}

TEST(Gemm, ReadsAlphaWhenItRuns) {
  Executor executor(2);
  Context context(Device::cpu(), executor);
  for (const int64_t n : {1, 40}) {
    GemmData<float> data({.m = 30, .n = n, .k = 20, .beta = 1}, 0, 1);
    data.give_alpha = true;
    const auto gemm = make_gemm(context, data.spec);
    for (const float alpha : {1.0f, -0.125f, 0.0f}) {
      data.alpha = alpha;
      EXPECT_TRUE(data.holds(data.run(*gemm, context))) << alpha;
    }
  }
}

template <class T>
void expect_rows_alone(int64_t n) {
  Executor executor(2);
  Context context(Device::cpu(), executor);
  const GemmData<T> all(
      {.m = 300, .n = n, .k = 100, .dtype = DTypeOf<T>::value, .transpose_b = true, .bias = true, .rows_alone = true},
      0, 1);
  const std::vector<T> whole = all.run(*make_gemm(context, all.spec), context);
  EXPECT_TRUE(all.holds(whole));
  GemmSpec spec = all.spec;
  spec.m = 1;
  const auto one = make_gemm(context, spec);
  for (const int64_t row : {0, 1, 299}) {
    std::vector<T> alone(static_cast<size_t>(n));
    GemmArgs args = all.args(alone);
    args.a = all.a.data() + row * spec.lda;
    one->run(context, args);
    EXPECT_EQ(alone, std::vector<T>(whole.begin() + row * n, whole.begin() + (row + 1) * n)) << row << " of " << n;
  }
}

TEST(Gemm, ARowDependsOnItselfAloneIfThatIsAsked) {
  for (const int64_t n : {1, 10, 200}) {
    expect_rows_alone<float>(n);
    expect_rows_alone<double>(n);
  }
}

TEST(Gemm, TheHostsOpenMpSettingDoesNotMatter) {
  Executor executor(2);
  Context context(Device::cpu(), executor);
  const GemmData<float> data({.m = 300, .n = 300, .k = 300}, 0, 1);
  const auto gemm = make_gemm(context, data.spec);
  const auto expected = data.run(*gemm, context);
  const int before = omp_get_max_threads();
  omp_set_num_threads(4);
  EXPECT_EQ(data.run(*gemm, context), expected);
  EXPECT_EQ(omp_get_max_threads(), 4);
  omp_set_num_threads(before);
}

TEST(Gemm, SharesAWorkspaceOnDevicesAlone) {
  EXPECT_EQ(shared_workspace_bytes(Device::cpu()), 0U);
  EXPECT_EQ(shared_workspace_bytes(Device::cuda(0)), 32U << 20);
}

TEST(Gemm, OfOneShapeMayLiveSeveralTimes) {
  Executor executor(2);
  Context context(Device::cpu(), executor);
  const GemmData<float> data({.m = 64, .n = 64, .k = 64}, 0, 1);
  const auto one = make_gemm(context, data.spec), two = make_gemm(context, data.spec);
  EXPECT_EQ(data.run(*one, context), data.run(*two, context));
}

}  // namespace
}  // namespace millrace
