// The training step of the 1024 -> 1024 -> 1 network at batch 256, without input, against only its three products of
// 1024 x 1024, on the same executor.
#include <memory>
#include <random>

#include "bench/budgets/budget.h"
#include "bench/budgets/network.h"
#include "millrace/core/kernels/gemm.h"
#include "millrace/core/text.h"

namespace millrace::bench {

namespace {

constexpr int kSteps = 8;

// Forward and weight gradient of the wide layer; the products of the narrow head are too small to matter.
class Products {
 public:
  Products(Context& context, int64_t batch)
      : context_(context),
        features_(Device::cpu(), {{batch, kUnits}, DType::f32}),
        weight_(Device::cpu(), {{kUnits, kUnits}, DType::f32}),
        hidden_(Device::cpu(), {{batch, kUnits}, DType::f32}),
        forward_(make_gemm(context, {.m = batch, .n = kUnits, .k = kUnits, .transpose_b = true})),
        gradient_(make_gemm(context, {.m = kUnits, .n = kUnits, .k = batch, .transpose_a = true, .beta = 1})) {
    std::mt19937_64 random(1);
    std::normal_distribution<float> normal(0, 0.03f);
    for (int64_t i = 0; i < batch * kUnits; ++i) features_.view().as<float>()[i] = normal(random);
    for (int64_t i = 0; i < kUnits * kUnits; ++i) weight_.view().as<float>()[i] = normal(random);
  }

  void run() {
    context_.executor().run([&] {
      forward_->run(context_, {features_.view().data(), weight_.view().data(), hidden_.view().data()});
      // So small that the weight does not change.
      const float alpha = 1e-20f;
      gradient_->run(context_,
                     {hidden_.view().data(), features_.view().data(), weight_.view().data(), nullptr, &alpha});
    });
  }

 private:
  Context& context_;
  Tensor features_, weight_, hidden_;
  std::unique_ptr<Gemm> forward_, gradient_;
};

Ratio step_over_products(const Setting& setting, int threads, int64_t batch) {
  Executor executor(threads);
  Context context(Device::cpu(), executor);
  Network network(context, batch);
  Products products(context, batch);
  return compare(
      4 * setting.rounds,
      [&] {
        return timed(wall_seconds, [&] {
          for (int i = 0; i < kSteps; ++i) products.run();
        });
      },
      [&] {
        return timed(wall_seconds, [&] {
          for (int i = 0; i < kSteps; ++i) network.step();
        });
      });
}

}  // namespace

void add_step_budgets(Budgets& out) {
  for (const int threads : {1, 2}) {
    out.push_back({cat("step/products/", threads),
                   cat("a step over its bare products, batch 256, ", count_of(threads, "thread")), 1.08, false,
                   [=](const Setting& setting) { return step_over_products(setting, threads, 256); }});
  }
}

}  // namespace millrace::bench
