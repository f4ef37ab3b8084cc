// Every optimizer on the device against the same one on the CPU.
#include <gtest/gtest.h>

#include "tests/layers/optimizers/optimizer_run.h"
#include "tests/support/cuda.h"

namespace millrace {
namespace {

using millrace::testing::draws;
using millrace::testing::OptimizerCase;
using millrace::testing::OptimizerRun;

Spec with_all(Spec options) {
  const Spec schedule = Spec::map().set("cosine", Spec::map().set("steps", 20).set("warmup", 5));
  return options.set("schedule", schedule).set("weight_decay", 0.1).set("learning_rate", 0.02);
}

class CudaOptimizers : public test::CudaTest {
 protected:
  // 20 updates of more elements than one block of threads has.
  std::vector<std::vector<double>> run(Context& where, const OptimizerCase& from, size_t slots) {
    constexpr int64_t kCount = 5001;
    OptimizerRun run(where, from, draws("parameters", kCount, -2, 2));
    for (int update = 0; update < 20; ++update) run.update(draws("gradients" + std::to_string(update), kCount));
    std::vector<std::vector<double>> out = {run.parameters()};
    for (size_t i = 0; i < slots; ++i) out.push_back(run.slot(i));
    return out;
  }

  void expect_as_on_the_cpu(OptimizerCase from) {
    Executor executor(2);
    Context cpu(Device::cpu(), executor);
    const auto slots = static_cast<size_t>(millrace::testing::make_optimizer(from.kind, from.options)->state_slots());
    for (const DType dtype : {DType::f32, DType::f64}) {
      from.dtype = dtype;
      SCOPED_TRACE(from.kind + ", " + std::string(to_string(dtype)));
      const auto expected = run(cpu, from, slots), got = run(context(), from, slots);
      for (size_t k = 0; k < expected.size(); ++k) {
        for (size_t i = 0; i < expected[k].size(); ++i) {
          ASSERT_NEAR(got[k][i], expected[k][i], dtype == DType::f64 ? 1e-12 : 2e-5) << "value " << i << " of " << k;
        }
      }
    }
  }
};

TEST_F(CudaOptimizers, GoAsOnTheCpu) {
  expect_as_on_the_cpu({.kind = "sgd", .options = Spec::map().set("learning_rate", 0.1)});
  expect_as_on_the_cpu({.kind = "sgd", .options = with_all(Spec::map())});
  expect_as_on_the_cpu({.kind = "sgd", .options = with_all(Spec::map().set("momentum", 0.9))});
  expect_as_on_the_cpu({.kind = "sgd", .options = with_all(Spec::map().set("momentum", 0.9).set("nesterov", true))});
  expect_as_on_the_cpu({.kind = "adam", .options = with_all(Spec::map())});
  expect_as_on_the_cpu({.kind = "adamw", .options = with_all(Spec::map())});
  expect_as_on_the_cpu({.kind = "rmsprop", .options = with_all(Spec::map())});
  expect_as_on_the_cpu({.kind = "rmsprop", .options = with_all(Spec::map().set("momentum", 0.9))});
  expect_as_on_the_cpu({.kind = "adagrad", .options = with_all(Spec::map())});
}

}  // namespace
}  // namespace millrace
