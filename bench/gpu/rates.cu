#include "bench/gpu/rates.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "millrace/core/cuda/check.h"
#include "millrace/core/cuda/cublaslt.h"
#include "millrace/core/cuda/state.h"
#include "millrace/core/errors.h"
#include "millrace/core/parallel.h"
#include "millrace/core/random.h"
#include "millrace/core/replay.h"
#include "millrace/core/text.h"

namespace millrace::bench {

namespace {

constexpr int kTries = 5;

class TimedEvent {
 public:
  TimedEvent() { MILLRACE_CUDA_CHECK(cudaEventCreateWithFlags(&event_, cudaEventDefault)); }
  ~TimedEvent() { static_cast<void>(cudaEventDestroy(event_)); }
  TimedEvent(const TimedEvent&) = delete;
  TimedEvent& operator=(const TimedEvent&) = delete;
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

struct DrawFloats {
  float* values;
  MILLRACE_HD void operator()(int64_t i) const {
    values[i] = static_cast<float>(2 * to_unit(philox64(0, 0, static_cast<uint64_t>(i))) - 1);
  }
};

struct AddOne {
  float* value;
  MILLRACE_HD void operator()(int64_t) const { *value += 1; }
};

// Counts bytes read and bytes written.
double copied_gb_per_s(Context& context, size_t bytes) {
  const Memory from(context.device(), bytes), to(context.device(), bytes);
  const double us = fastest(context, [&] { context.copy_async(to.data(), from.data(), bytes); });
  context.synchronize();
  return 2e-3 * static_cast<double>(bytes) / us;
}

double product_tflops(Context& context, int64_t size, cublasComputeType_t compute) {
  cuda::State& state = context.cuda();
  const cuda::CublasLt& lt = state.cublaslt();
  const Memory a = drawn_floats(context, size * size), b = drawn_floats(context, size * size);
  const Memory c(context.device(), a.bytes());
  const auto workspace = state.workspace();
  const auto product = lt.make_product(compute, CUDA_R_32F);
  const int32_t host = CUBLASLT_POINTER_MODE_HOST;
  MILLRACE_CUBLASLT_CHECK(lt, lt.product_set(product.get(), CUBLASLT_MATMUL_DESC_POINTER_MODE, &host, sizeof host));
  const auto layout = lt.make_layout(CUDA_R_32F, size, size, size);
  const auto preference = lt.make_preference();
  const uint64_t limit = workspace->bytes();
  MILLRACE_CUBLASLT_CHECK(
      lt, lt.preference_set(preference.get(), CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &limit, sizeof limit));
  std::array<cublasLtMatmulHeuristicResult_t, 8> found{};
  int count = 0;
  MILLRACE_CUBLASLT_CHECK(
      lt, lt.heuristic(lt.handle(), product.get(), layout.get(), layout.get(), layout.get(), layout.get(),
                       preference.get(), static_cast<int>(found.size()), found.data(), &count));
  // Like the library's own products, takes no algorithm that adds up in place.
  const auto chosen = std::find_if(found.begin(), found.begin() + count, [&](const auto& result) {
    uint32_t scheme = 0;
    size_t written = 0;
    MILLRACE_CUBLASLT_CHECK(lt, lt.algorithm_attribute(&result.algo, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, &scheme,
                                                       sizeof scheme, &written));
    return (scheme & CUBLASLT_REDUCTION_SCHEME_INPLACE) == 0;
  });
  if (chosen == found.begin() + count) throw DeviceError("cuBLASLt has no way to this product");
  const float one = 1, zero = 0;
  const double us = fastest(context, [&] {
    MILLRACE_CUBLASLT_CHECK(lt, lt.matmul(lt.handle(), product.get(), &one, a.data(), layout.get(), b.data(),
                                          layout.get(), &zero, c.data(), layout.get(), c.data(), layout.get(),
                                          &chosen->algo, workspace->data(), chosen->workspaceSize, state.stream()));
  });
  context.synchronize();
  const double wide = static_cast<double>(size);
  return 2e-6 * wide * wide * wide / us;
}

// Microseconds of a kernel: in a graph of small kernels, one after the other, or in graphs of one small kernel.
double kernel_us(Context& context, int nodes, int launches) {
  Memory value(context.device(), sizeof(float));
  Replay replay;
  const auto give = [&] {
    for (int i = 0; i < launches; ++i) {
      replay.run(context, [&] {
        for (int node = 0; node < nodes; ++node) for_each_index(context, 1, AddOne{static_cast<float*>(value.data())});
      });
    }
  };
  for (int i = 0; i < 2; ++i) give();
  const double us = fastest(context, give) / nodes / launches;
  context.synchronize();
  if (!replay.recorded()) throw DeviceError("no graph could be recorded");
  return us;
}

}  // namespace

double microseconds(Context& context, FunctionRef<void()> work) {
  if (context.device().is_cpu()) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point begin = Clock::now();
    work();
    return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  }
  const cuda::DeviceGuard guard(context.cuda().device());
  const TimedEvent begin, end;
  context.synchronize();
  MILLRACE_CUDA_CHECK(cudaEventRecord(begin.get(), context.cuda().stream()));
  work();
  MILLRACE_CUDA_CHECK(cudaEventRecord(end.get(), context.cuda().stream()));
  MILLRACE_CUDA_CHECK(cudaEventSynchronize(end.get()));
  float milliseconds = 0;
  MILLRACE_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()));
  return 1e3 * static_cast<double>(milliseconds);
}

double fastest(Context& context, FunctionRef<void()> work) {
  microseconds(context, work);
  double best = microseconds(context, work);
  for (int i = 1; i < kTries; ++i) best = std::min(best, microseconds(context, work));
  return best;
}

Memory drawn_floats(Context& context, int64_t count) {
  Memory out(context.device(), static_cast<size_t>(count) * sizeof(float));
  for_each_index(context, count, DrawFloats{static_cast<float*>(out.data())});
  return out;
}

void measure(std::vector<Rate>& rates, std::string name, std::string unit, FunctionRef<double()> run) {
  Rate rate{.name = std::move(name), .unit = std::move(unit)};
  try {
    rate.value = run();
  } catch (const Error& error) {
    rate.failed = error.what();
  }
  rates.push_back(std::move(rate));
}

std::vector<Rate> measure_rates(Context& context, const RateSizes& sizes) {
  std::vector<Rate> rates;
  measure(rates, "copy", "GB/s", [&] { return copied_gb_per_s(context, sizes.copied_bytes); });
  measure(rates, "fp32", "TFLOP/s", [&] { return product_tflops(context, sizes.product, CUBLAS_COMPUTE_32F); });
  measure(rates, "tf32", "TFLOP/s",
          [&] { return product_tflops(context, sizes.product, CUBLAS_COMPUTE_32F_FAST_TF32); });
  measure(rates, "node", "us", [&] { return kernel_us(context, sizes.nodes, 1); });
  measure(rates, "launch", "us", [&] { return kernel_us(context, 1, sizes.nodes); });
  return rates;
}

}  // namespace millrace::bench
