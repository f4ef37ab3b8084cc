#include <gtest/gtest.h>

#include "millrace/core/kernels/gemm_cpu.h"
#include "tests/core/kernels/gemm_check.h"

namespace millrace {
namespace {

using testing::check_threads;
using testing::GemmData;

GemmSpec spec_of(int64_t m, int64_t n, int64_t k, uint64_t form) {
  return {.m = m,
          .n = n,
          .k = k,
          .transpose_b = true,
          .beta = (form & 1) != 0 ? 1.0F : 0.0F,
          .bias = (form & 2) != 0,
          .activation = (form & 4) != 0 ? FusedActivation::relu : FusedActivation::none,
          .rows_alone = true};
}

TEST(DotsGemm, AgreesAroundEveryEdge) {
  Executor executor(2);
  Context context(Device::cpu(), executor);
  constexpr int64_t kEdges[] = {1, 2, 3, 7, 8, 9, 47, 48, 49, 63, 64, 65, 127, 129, 257};
  uint64_t form = 0;
  for (const int64_t m : kEdges) {
    for (const int64_t n : kEdges) {
      const int64_t k = kEdges[scale_to(philox64(9, form, 0), std::size(kEdges))];
      GemmData<float> data(spec_of(m, n, k, form), (form & 8) != 0 ? 5 : 0, form);
      data.give_alpha = (form & 16) != 0;
      data.alpha = -0.25F;
      const std::unique_ptr<Gemm> gemm = cpu::make_dots_gemm(context, data.spec);
      ASSERT_TRUE(data.holds(data.run(*gemm, context)));
      ++form;
    }
  }
}

TEST(DotsGemm, GivesTheSameBitsOnAnyNumberOfThreads) {
  for (const int64_t m : {1, 23, 256}) check_threads<float>(cpu::make_dots_gemm, spec_of(m, 1024, 300, 6));
}

// Rows [begin, end) of a product by themselves are those rows of the whole product.
TEST(DotsGemm, ARowDependsOnItselfAlone) {
  Executor executor(2);
  Context context(Device::cpu(), executor);
  for (const auto& [n, k] : {std::pair<int64_t, int64_t>{1, 100}, {10, 64}, {70, 28}, {130, 77}}) {
    const GemmData<float> all(spec_of(1000, n, k, 6), 3, 1);
    const std::vector<float> whole = all.run(*cpu::make_dots_gemm(context, all.spec), context);
    for (const auto& [begin, end] : {std::pair<int64_t, int64_t>{0, 1}, {999, 1000}, {500, 507}, {1, 257}}) {
      GemmSpec spec = all.spec;
      spec.m = end - begin;
      std::vector<float> part(static_cast<size_t>(spec.m * spec.ldc), GemmData<float>::kMark);
      GemmArgs args = all.args(part);
      args.a = all.a.data() + begin * spec.lda;
      cpu::make_dots_gemm(context, spec)->run(context, args);
      ASSERT_EQ(std::memcmp(part.data(), whole.data() + begin * spec.ldc, part.size() * sizeof(float)), 0)
          << n << " columns, k " << k << ", rows " << begin << " to " << end;
    }
  }
}

}  // namespace
}  // namespace millrace
