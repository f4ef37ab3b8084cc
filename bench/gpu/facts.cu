#include "bench/gpu/facts.h"

#include <cuda_runtime_api.h>
#include <unistd.h>

#include <fstream>
#include <utility>

#include "millrace/core/cuda/check.h"
#include "millrace/core/cuda/cublaslt.h"
#include "millrace/core/cuda/cudnn.h"
#include "millrace/core/cuda/state.h"
#include "millrace/core/errors.h"
#include "millrace/core/parallel.h"
#include "millrace/core/text.h"
#include "millrace/core/utf8.h"

namespace millrace::bench {

namespace {

constexpr std::pair<const char*, cudaDeviceAttr> kAttributes[] = {
    {"compute_major", cudaDevAttrComputeCapabilityMajor},
    {"compute_minor", cudaDevAttrComputeCapabilityMinor},
    {"multiprocessors", cudaDevAttrMultiProcessorCount},
    {"l2_bytes", cudaDevAttrL2CacheSize},
    // If a GPU reads all of the host's memory, a kernel with a host pointer by mistake does not fail.
    {"reads_pageable_memory", cudaDevAttrPageableMemoryAccess},
    {"by_the_hosts_page_tables", cudaDevAttrPageableMemoryAccessUsesHostPageTables},
};

// An address in the first page, which is never mapped.
constexpr uintptr_t kBadAddress = 64;

struct Write {
  float* at;
  MILLRACE_HD void operator()(int64_t) const { *at = 1; }
};

}  // namespace

std::string about_device(Context& context) {
  std::string out;
  const auto tell = [&out](const char* name, auto value) {
    out += cat(out.empty() ? "{" : ", ", '"', name, "\": ", value);
  };
  for (const auto& [name, attribute] : kAttributes) {
    int value = 0;
    if (cudaDeviceGetAttribute(&value, attribute, context.device().index) == cudaSuccess) tell(name, value);
    static_cast<void>(cudaGetLastError());
  }
  int driver = 0;
  MILLRACE_CUDA_CHECK(cudaDriverGetVersion(&driver));
  tell("driver", driver);
  tell("runtime", CUDART_VERSION);
  for (const bool convolutions : {false, true}) {
    const char* const name = convolutions ? "cudnn" : "cublaslt";
    try {
      cuda::State& state = context.cuda();
      tell(name, convolutions ? state.cudnn().get_version() : state.cublaslt().get_version());
    } catch (const Error& error) {
      tell(name, json_string(error.message()));
    }
  }
  return out + "}";
}

size_t used_bytes(Device device) {
  if (device.is_cpu()) return 0;
  const cuda::DeviceGuard guard(device.index);
  size_t left = 0, total = 0;
  MILLRACE_CUDA_CHECK(cudaMemGetInfo(&left, &total));
  return total - left;
}

size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  size_t pages = 0, resident = 0;
  file >> pages >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

void write_to_bad_address(Context& context) {
  for_each_index(context, 1, Write{reinterpret_cast<float*>(kBadAddress)});
  context.synchronize();
}

}  // namespace millrace::bench
