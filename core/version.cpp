#include "millrace/core/version.h"

#include "millrace/core/cuda/backend.h"
#include "millrace/core/kernels/onednn_version.h"
#include "millrace/core/text.h"

// Declared here because oneTBB's headers belong to executor.cpp alone.
extern "C" const char* TBB_runtime_version();

namespace millrace {

namespace {

std::string compiler() {
#if defined(__clang__)
  return cat("clang ", __clang_major__, '.', __clang_minor__, '.', __clang_patchlevel__);
#else
  return cat("g++ ", __GNUC__, '.', __GNUC_MINOR__, '.', __GNUC_PATCHLEVEL__);
#endif
}

std::vector<std::string> processor_features() {
  std::vector<std::string> out;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("sse4.2")) out.emplace_back("sse4.2");
  if (__builtin_cpu_supports("avx2")) out.emplace_back("avx2");
  if (__builtin_cpu_supports("fma")) out.emplace_back("fma");
  if (__builtin_cpu_supports("avx512f")) out.emplace_back("avx512f");
  if (__builtin_cpu_supports("avx512bw")) out.emplace_back("avx512bw");
  if (__builtin_cpu_supports("avx512vl")) out.emplace_back("avx512vl");
  if (__builtin_cpu_supports("avx512vbmi2")) out.emplace_back("avx512vbmi2");
  if (__builtin_cpu_supports("avx512vnni")) out.emplace_back("avx512vnni");
#endif
  return out;
}

}  // namespace

VersionInfo version_info() {
  const cuda::BuildInfo cuda = cuda::build_info();
  return {.version = MILLRACE_VERSION,
          .build_type = MILLRACE_BUILD_TYPE,
          .compiler = compiler(),
          .cuda = cuda.built ? cuda.toolkit : "",
          .processor = processor_features(),
          .onednn = onednn_version(),
          .onetbb = TBB_runtime_version()};
}

}  // namespace millrace
