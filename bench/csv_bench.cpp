// Runs of few numbers: the time of each level for a run of so many fields.
//
//   csv_bench --benchmark_enable_random_interleaving=true --benchmark_repetitions=9
//   --benchmark_report_aggregates_only=true
//
// Arguments: level (0 scalar, 1 avx2, 2 avx512), fields.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <vector>

#include "bench/budgets/texts.h"
#include "millrace/input/csv/kernels/kernels.h"

namespace millrace {
namespace {

void parse_runs(benchmark::State& state) {
  const CsvKernels* kernels = csv_kernels(static_cast<ProcessorLevel>(state.range(0)));
  if (kernels == nullptr) return state.SkipWithError("not on this processor");
  const std::string text = bench::random_rows(20, bench::Digits::f32);
  std::vector<uint32_t> ends;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == ',' || text[at] == '\n') ends.push_back(static_cast<uint32_t>(at));
  }
  const auto count = static_cast<size_t>(state.range(1));
  std::vector<float> out(count);
  size_t first = 1;
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        std::get<0>(kernels->parse)({text.data(), ends[first - 1] + size_t{1}, &ends[first], count}, out.data()));
    benchmark::ClobberMemory();
    first = first + 2 * count < ends.size() ? first + count : 1;
  }
}
BENCHMARK(parse_runs)->ArgsProduct({{0, 1, 2}, {1, 2, 3, 4, 6, 8, 16, 1024}})->Unit(benchmark::kNanosecond);

}  // namespace
}  // namespace millrace
