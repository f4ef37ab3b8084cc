// The products of a training step of a 1024 -> 1024 -> 1 network, and the ways to compute each.
//
//   gemm_bench --benchmark_enable_random_interleaving=true --benchmark_repetitions=9
//   --benchmark_report_aggregates_only=true
//
// Arguments: batch, threads. "GFLOP/s" counts 2 m n k. weight_* compares the two ways to store a weight: (out, in),
// as PyTorch does, and (in, out); each is one forward product and one update of the weight in place.
#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "millrace/core/kernels/gemm.h"
#include "millrace/core/kernels/gemm_cpu.h"
#include "millrace/core/random.h"
#include "millrace/core/tensor.h"

namespace millrace {
namespace {

constexpr int64_t kUnits = 1024;

Tensor random_tensor(int64_t rows, int64_t columns) {
  Tensor tensor(Device::cpu(), {{rows, columns}, DType::f32});
  for (int64_t i = 0; i < rows * columns; ++i) {
    tensor.view().as<float>()[i] = static_cast<float>(to_unit(philox64(1, 2, static_cast<uint64_t>(i))) - 0.5);
  }
  return tensor;
}

// One planned product with operands of its own.
class Product {
 public:
  using Maker = std::unique_ptr<Gemm> (*)(Context&, const GemmSpec&);

  Product(Context& context, Maker make, GemmSpec spec)
      : a_(spec.transpose_a ? random_tensor(spec.k, spec.m) : random_tensor(spec.m, spec.k)),
        b_(spec.transpose_b ? random_tensor(spec.n, spec.k) : random_tensor(spec.k, spec.n)),
        c_(random_tensor(spec.m, spec.n)),
        bias_(random_tensor(1, spec.n)),
        spec_(spec) {
    spec.lda = a_.view().columns();
    spec.ldb = b_.view().columns();
    spec.ldc = spec.n;
    gemm_ = make(context, spec);
  }

  void run(Context& context) {
    gemm_->run(context, {a_.view().data(), b_.view().data(), c_.view().data(),
                         spec_.bias ? bias_.view().data() : nullptr, &alpha_});
  }
  double flops() const { return 2.0 * static_cast<double>(spec_.m * spec_.n * spec_.k); }

 private:
  // So small that c, to which some products add, stays finite however long the benchmark runs.
  float alpha_ = 1e-20f;
  Tensor a_, b_, c_, bias_;
  GemmSpec spec_;
  std::unique_ptr<Gemm> gemm_;
};

GemmSpec forward(int64_t batch, bool out_in) {
  return {
      .m = batch, .n = kUnits, .k = kUnits, .transpose_b = out_in, .bias = true, .activation = FusedActivation::relu};
}
GemmSpec weight_gradient(int64_t batch) {
  return {.m = kUnits, .n = kUnits, .k = batch, .transpose_a = true, .beta = 1};
}
GemmSpec input_gradient(int64_t batch, bool out_in) {
  return {.m = batch, .n = kUnits, .k = kUnits, .transpose_b = !out_in};
}

void run_products(benchmark::State& state, const std::vector<std::pair<Product::Maker, GemmSpec>>& wanted) {
  Executor executor(static_cast<int>(state.range(1)));
  Context context(Device::cpu(), executor);
  std::vector<Product> products;
  double flops = 0;
  for (const auto& [make, spec] : wanted) flops += products.emplace_back(context, make, spec).flops();
  for (auto _ : state) {
    executor.run([&] {
      for (Product& product : products) product.run(context);
    });
  }
  state.counters["GFLOP/s"] = benchmark::Counter(flops * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

#define MILLRACE_PRODUCT_BENCH(name, ...) \
  void name(benchmark::State& state) {    \
    const int64_t batch = state.range(0); \
    run_products(state, {__VA_ARGS__});   \
  }                                       \
  BENCHMARK(name)->ArgsProduct({{23, 128, 256}, {1, 2}})->UseRealTime()->Unit(benchmark::kMicrosecond)

MILLRACE_PRODUCT_BENCH(forward_matmul, {cpu::make_matmul_gemm, forward(batch, true)});
MILLRACE_PRODUCT_BENCH(forward_sgemm, {cpu::make_sgemm_gemm, forward(batch, true)});
MILLRACE_PRODUCT_BENCH(forward_dots, {cpu::make_dots_gemm, forward(batch, true)});
MILLRACE_PRODUCT_BENCH(forward_in_out_matmul, {cpu::make_matmul_gemm, forward(batch, false)});
MILLRACE_PRODUCT_BENCH(forward_in_out_sgemm, {cpu::make_sgemm_gemm, forward(batch, false)});
MILLRACE_PRODUCT_BENCH(weight_gradient_matmul, {cpu::make_matmul_gemm, weight_gradient(batch)});
MILLRACE_PRODUCT_BENCH(weight_gradient_sgemm, {cpu::make_sgemm_gemm, weight_gradient(batch)});
MILLRACE_PRODUCT_BENCH(input_gradient_matmul, {cpu::make_matmul_gemm, input_gradient(batch, true)});
MILLRACE_PRODUCT_BENCH(input_gradient_sgemm, {cpu::make_sgemm_gemm, input_gradient(batch, true)});
MILLRACE_PRODUCT_BENCH(weight_out_in, {make_gemm, forward(batch, true)}, {make_gemm, weight_gradient(batch)});
MILLRACE_PRODUCT_BENCH(weight_in_out, {make_gemm, forward(batch, false)}, {make_gemm, weight_gradient(batch)});
MILLRACE_PRODUCT_BENCH(head, {make_gemm, {.m = batch, .n = 1, .k = kUnits, .transpose_b = true, .bias = true}},
                       {make_gemm, {.m = 1, .n = kUnits, .k = batch, .transpose_a = true, .beta = 1}},
                       {make_gemm, {.m = batch, .n = kUnits, .k = 1}});

// A layer's forward product, as make_gemm() chooses for a training and for rows that must not depend on each other.
// Arguments: outputs, inputs, batch, threads.
void layer(benchmark::State& state, bool rows_alone) {
  const GemmSpec spec{.m = state.range(2),
                      .n = state.range(0),
                      .k = state.range(1),
                      .transpose_b = true,
                      .bias = true,
                      .activation = FusedActivation::relu,
                      .rows_alone = rows_alone};
  Executor executor(static_cast<int>(state.range(3)));
  Context context(Device::cpu(), executor);
  Product product(context, make_gemm, spec);
  for (auto _ : state) executor.run([&] { product.run(context); });
  state.counters["GFLOP/s"] = benchmark::Counter(product.flops() * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

void layers(benchmark::internal::Benchmark* bench) {
  const std::vector<std::pair<int64_t, int64_t>> sizes = {{64, 28},     {256, 256}, {512, 784}, {1024, 1024},
                                                          {2048, 2048}, {10, 512},  {1, 64},    {1, 1024}};
  for (const auto& [outputs, inputs] : sizes) {
    for (const int64_t batch : {1, 4, 32, 256}) bench->Args({outputs, inputs, batch, 1});
  }
  bench->UseRealTime()->Unit(benchmark::kMicrosecond);
}
BENCHMARK_CAPTURE(layer, training, false)->Apply(layers);
BENCHMARK_CAPTURE(layer, rows_alone, true)->Apply(layers);

}  // namespace
}  // namespace millrace
