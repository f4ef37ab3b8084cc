#include "millrace/core/describe_device.h"

#include <fstream>

#include "millrace/core/cuda/backend.h"
#include "millrace/core/kernels/onednn_planning.h"

namespace millrace {

std::string processor_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != line.npos) return line.substr(colon + 2);
  }
  return "a processor without a name";
}

DeviceDescription describe_device(Device device, const CudaNeeds& needs) {
  if (device.is_cpu()) return {processor_model(), {cpu::onednn_version()}};
  return {cuda::name_of(device), cuda::library_versions(needs)};
}

}  // namespace millrace
