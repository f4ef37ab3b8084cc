// The hardware and the libraries that compute on a device. Two devices with equal descriptions give the same bits.
#pragma once

#include <string>
#include <vector>

#include "millrace/core/context.h"

namespace millrace {

struct DeviceDescription {
  std::string name;                    // "AMD EPYC 7B13 64-Core Processor", "NVIDIA H100 80GB HBM3"
  std::vector<std::string> libraries;  // for products and convolutions: "oneDNN 2.6.3", "cuBLASLt 130100"
};

// Opens the libraries of a CUDA device. Throws DeviceError if one is missing.
DeviceDescription describe_device(Device device, const CudaNeeds& needs = {});

// The model of this machine's processor, as /proc/cpuinfo names it.
std::string processor_model();

}  // namespace millrace
