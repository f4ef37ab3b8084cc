#include "millrace/core/cuda/check.h"

#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace::cuda {

namespace {

const char* hint_for(cudaError_t status) {
  switch (status) {
    case cudaErrorMemoryAllocation: return "use a smaller batch_size, or another device";
    case cudaErrorNoKernelImageForDevice:
      return "configure with CMAKE_CUDA_ARCHITECTURES set to this GPU's compute capability";
    case cudaErrorInsufficientDriver: return "install a newer NVIDIA driver";
    case cudaErrorStreamCaptureUnsupported: return "a captured step may only enqueue work";
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorLaunchFailure: return "CUDA_LAUNCH_BLOCKING=1 shows which call failed";
    default: return "device: cpu trains without the GPU";
  }
}

}  // namespace

std::string describe(const CallSite& site) {
  std::string_view file = site.file;
  if (const size_t folder = file.rfind("/core/"); folder != std::string_view::npos) file.remove_prefix(folder + 1);
  return cat(site.expression, " at ", file, ':', site.line);
}

void fail(cudaError_t status, const CallSite& site) {
  static_cast<void>(cudaGetLastError());
  throw DeviceError(cat(describe(site), " failed: ", cudaGetErrorString(status), " (", cudaGetErrorName(status), ')'),
                    {}, hint_for(status));
}

}  // namespace millrace::cuda
