// Fingerprint: the versions and the hardware that decide the last bits of a training's weights. Weights are promised to
// be equal only if the configuration, the data and the fingerprint are equal. Rows do not depend on the fingerprint.
//
// A value.
#pragma once

#include <string>
#include <string_view>

#include "millrace/core/context.h"

namespace millrace {

struct Fingerprint {
  std::string version;    // Millrace's version: "0.2.0"
  std::string compiler;   // the compiler of the build: "g++ 12.2.0"
  std::string libraries;  // "oneDNN 2.6.3"
  std::string processor;  // with the instruction sets: "AMD EPYC 7B13 64-Core Processor (avx2 fma)"
  std::string device;     // "cpu", "NVIDIA H100 80GB HBM3"

  // The fingerprint of a training on `device` in this process. Throws DeviceError if one of the device's libraries is
  // missing.
  static Fingerprint here(Device device, const CudaNeeds& needs = {});

  // text() gives a line "name: value" for each part. parse() reads such lines; a part without a line is empty. REQUIRES
  // for text(): no part holds a newline.
  std::string text() const;
  static Fingerprint parse(std::string_view text);

  bool operator==(const Fingerprint&) const = default;
};

// A sentence that names the parts that differ, and says what this means for the weights. Empty if the fingerprints are
// equal.
std::string difference(const Fingerprint& saved, const Fingerprint& now);

}  // namespace millrace
