// A steady step allocates nothing of ours. This file replaces the test program's operator new to count, except under
// sanitizers, which check it against delete.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "millrace/core/library_call.h"
#include "tests/layers/model/training.h"

namespace {
std::atomic<int64_t> allocations{0};
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
constexpr bool kCounts = true;

// What libraries allocate inside their own calls is counted elsewhere. Not inlined: GCC would see free() meet new.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  if (!millrace::LibraryCall::active()) ++allocations;
  if (void* data = std::malloc(bytes == 0 ? 1 : bytes)) return data;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* data) noexcept { std::free(data); }
[[gnu::noinline]] void operator delete(void* data, std::size_t) noexcept { std::free(data); }
#else
constexpr bool kCounts = false;
#endif

namespace millrace::testing {
namespace {

TEST(SteadyStep, AllocatesNothing) {
  if (!kCounts) GTEST_SKIP() << "sanitizers have an operator new of their own";
  for (const bool in_place : {true, false}) {
    for (const int threads : {1, 3}) {
      Executor executor(threads);
      Context context(Device::cpu(), executor);
      Model model = build_model(context,
                                {{.kind = "dense", .options = dense_units(200, "relu"), .name = "a"},
                                 {.kind = "dense", .options = dense_units(200), .name = "b"},
                                 {.kind = "add", .from = {"a", "b"}},
                                 {.kind = "relu"},
                                 {.kind = "dense", .options = dense_units(1)}},
                                features(Shape{300}));
      Tensor field(Device::cpu(), {Shape{90, 300}, DType::f32}, Tensor::Rows::padded);
      Tensor label(Device::cpu(), {Shape{90, 1}, DType::f32}, Tensor::Rows::padded);
      Tensor block(Device::cpu(), model.parameter_block().spec());
      const TensorView shape = field.view();
      ModelPlan plan(model, context, {.inputs = {&shape, 1}, .update_in_place = in_place});
      const LayerCatalog catalog = LayerCatalog::builtin();
      const auto loss = catalog.losses.make({"sigmoid_cross_entropy", Spec::map()}, Spec::map());
      const auto loss_plan = loss->plan(context, {.prediction = plan.output(), .label = label.view()});
      const auto metric = catalog.metrics.make({"accuracy", Spec::map()}, Spec::map());
      const auto metric_plan = metric->plan(context, {.prediction = plan.output(), .label = label.view()});
      const Memory scratch(Device::cpu(), loss_plan->scratch_bytes() + metric_plan->scratch_bytes());
      const Memory partial(Device::cpu(), metric_plan->partial_bytes());
      const Spec options = Spec::map().set("learning_rate", 0.1);
      const auto optimizer = catalog.optimizers.make({"sgd", options}, options);
      const ConstTensorView input = field.view();
      float value[2] = {}, alpha = 0;
      uint64_t step = 0;
      const auto run = [&] {
        optimizer->scalars(step, {&alpha, 1});
        plan.forward(context, {&input, 1}, &step);
        loss_plan->run(context, {.prediction = plan.output(),
                                 .label = label.view(),
                                 .weight = {},
                                 .loss = value,
                                 .gradient = plan.output_gradient(),
                                 .scratch = scratch.data()});
        metric_plan->run(context, {.prediction = plan.output(),
                                   .label = label.view(),
                                   .weight = {},
                                   .partial = partial.data(),
                                   .scratch = scratch.data()});
        plan.backward(context, {&input, 1}, &step, &alpha, block.view());
        if (!in_place) {
          optimizer->update(
              context,
              {.parameters = model.parameter_block(), .gradients = block.view(), .slots = {}, .scalars = &alpha});
        }
        ++step;
      };
      run();
      const int64_t before = allocations.load();
      for (int i = 0; i < 5; ++i) run();
      EXPECT_EQ(allocations.load() - before, 0) << (in_place ? "in place" : "apart") << ", threads " << threads;
    }
  }
}

}  // namespace
}  // namespace millrace::testing
