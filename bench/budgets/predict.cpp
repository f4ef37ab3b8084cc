// One row through a network in memory, against only the two products of its layers.
#include <array>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "bench/budgets/budget.h"
#include "millrace/core/context.h"
#include "millrace/core/kernels/gemm.h"
#include "millrace/core/text.h"
#include "millrace/core/threads/executor.h"
#include "millrace/trainer/predict/network.h"
#include "millrace/trainer/trainer.h"

namespace millrace::bench {

namespace {

constexpr int kRows = 200;

class RowProducts {
 public:
  RowProducts(Context& context, int64_t units)
      : context_(context),
        row_(Device::cpu(), {{1, units}, DType::f32}),
        weight_(Device::cpu(), {{units, units}, DType::f32}),
        hidden_(Device::cpu(), {{1, units}, DType::f32}),
        head_(Device::cpu(), {{1, units}, DType::f32}),
        output_(Device::cpu(), {{1, 1}, DType::f32}),
        wide_(make_gemm(context, {.m = 1, .n = units, .k = units, .transpose_b = true, .rows_alone = true})),
        narrow_(make_gemm(context, {.m = 1, .n = 1, .k = units, .transpose_b = true, .rows_alone = true})) {
    std::mt19937_64 random(1);
    std::normal_distribution<float> normal(0, 0.03f);
    for (int64_t i = 0; i < units * units; ++i) weight_.view().as<float>()[i] = normal(random);
  }

  // Enters the executor once for all rows, because services do not predict single rows.
  void run() {
    context_.executor().run([&] {
      for (int i = 0; i < kRows; ++i) {
        wide_->run(context_, {row_.view().data(), weight_.view().data(), hidden_.view().data()});
        narrow_->run(context_, {hidden_.view().data(), head_.view().data(), output_.view().data()});
      }
    });
  }

 private:
  Context& context_;
  Tensor row_, weight_, hidden_, head_, output_;
  std::unique_ptr<Gemm> wide_, narrow_;
};

Ratio row_over_products(const Setting& setting, int64_t units) {
  Executor executor(1);
  Context context(Device::cpu(), executor);
  RowProducts products(context, units);
  Trainer trainer =
      Trainer::from_string(cat("device: cpu\nthreads: 1\ninput: [{synthetic: {features: ", units,
                               ", rows: 64}}, {batch: {batch_size: 32}}]\n", "model: [{dense: {units: ", units,
                               ", activation: relu}}, {dense: {units: 1}}]\n",
                               "loss: sigmoid_cross_entropy\noptimizer: {sgd: {learning_rate: 0.01}}\n"),
                           "predict.yaml");
  trainer.run();
  const ::millrace::Network network = trainer.network();
  std::vector<float> row(static_cast<size_t>(units), 0.5f);
  std::array<float, 1> output{};
  return compare(
      4 * setting.rounds, [&] { return timed(wall_seconds, [&] { products.run(); }); },
      [&] {
        return timed(wall_seconds, [&] {
          for (int i = 0; i < kRows; ++i) network.predict(row, output);
        });
      });
}

}  // namespace

void add_predict_budgets(Budgets& out) {
  for (const int64_t units : {256, 1024}) {
    out.push_back({cat("predict/row/", units),
                   cat("a row through a network of ", units, " -> ", units, " -> 1 over its bare products"), 2, false,
                   [=](const Setting& setting) { return row_over_products(setting, units); }});
  }
}

}  // namespace millrace::bench
