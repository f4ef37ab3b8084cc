#include "millrace/version.h"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <utility>

#include "millrace/core/cuda/backend.h"
#include "millrace/core/kernels/onednn_planning.h"
#include "millrace/core/text.h"

namespace millrace {

namespace {

std::vector<std::string> processor_features() {
  std::vector<std::string> out;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) out.emplace_back("avx2");
  if (__builtin_cpu_supports("fma")) out.emplace_back("fma");
  if (__builtin_cpu_supports("avx512f")) out.emplace_back("avx512f");
  if (__builtin_cpu_supports("avx512bw")) out.emplace_back("avx512bw");
  if (__builtin_cpu_supports("avx512vbmi2")) out.emplace_back("avx512vbmi2");
#endif
  return out;
}

std::string compiler() {
#if defined(__clang__)
  return cat("clang ", __clang_major__, '.', __clang_minor__, '.', __clang_patchlevel__);
#else
  return cat("g++ ", __GNUC__, '.', __GNUC_MINOR__, '.', __GNUC_PATCHLEVEL__);
#endif
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

}  // namespace

std::string_view version() { return MILLRACE_VERSION; }

BuildDescription describe_build() {
  const std::string cuda = cuda::toolkit_version();
  BuildDescription out = {.build_type = MILLRACE_BUILD_TYPE,
                          .compiler = compiler(),
                          .cuda = cuda,
                          .libraries = {cpu::onednn_version(), Executor::library()},
                          .processor = processor_features(),
                          .capabilities = words_of(MILLRACE_CAPABILITIES),
                          .left_out = words_of(MILLRACE_LEFT_OUT)};
  for (std::string& format : words_of(MILLRACE_FORMATS)) {
    std::ranges::replace(format, ':', ' ');  // before its version
    out.libraries.push_back(std::move(format));
  }
  (cuda.empty() ? out.left_out : out.capabilities).emplace_back("cuda");
  return out;
}

}  // namespace millrace
