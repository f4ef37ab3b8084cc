#include "millrace/input/csv/kernels/kernels.h"

#include <array>
#include <atomic>

namespace millrace {

namespace {

const CsvKernels& best() {
  for (const ProcessorLevel level : {ProcessorLevel::avx512, ProcessorLevel::avx2}) {
    if (const CsvKernels* kernels = csv_kernels(level)) return *kernels;
  }
  return *scalar_csv_kernels();
}

std::atomic<const CsvKernels*>& in_use() {
  static std::atomic<const CsvKernels*> kernels = &best();
  return kernels;
}

}  // namespace

std::string_view to_string(ProcessorLevel level) {
  static constexpr std::array<std::string_view, 3> kNames = {"scalar", "avx2", "avx512"};
  return kNames[static_cast<size_t>(level)];
}

const CsvKernels* csv_kernels(ProcessorLevel level) {
#if defined(__x86_64__)
  // Asks for every feature that targets.h lets the compiler use. The answers also say whether the system saves the
  // registers.
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                    __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512vbmi") &&
                      __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512bitalg");
  if (level == ProcessorLevel::avx2 && avx2) return avx2_csv_kernels();
  if (level == ProcessorLevel::avx512 && avx512) return avx512_csv_kernels();
#endif
  return level == ProcessorLevel::scalar ? scalar_csv_kernels() : nullptr;
}

const CsvKernels& csv_kernels() { return *in_use().load(std::memory_order_relaxed); }

void use_csv_kernels(const CsvKernels& kernels) { in_use().store(&kernels, std::memory_order_relaxed); }

}  // namespace millrace
