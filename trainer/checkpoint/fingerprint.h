// Fingerprint: what the last bits of a training's weights depend on besides its configuration and its data. Weights are
// promised for equal fingerprints only; rows never depend on it.
//
// A value.
#pragma once

#include <string>
#include <string_view>

#include "millrace/core/context.h"

namespace millrace {

struct Fingerprint {
  std::string version;    // of Millrace: "0.2.0"
  std::string compiler;   // that it was built with: "g++ 12.2.0"
  std::string libraries;  // "oneDNN 2.6.3"
  std::string processor;  // with the instruction sets: "AMD EPYC 7B13 64-Core Processor (avx2 fma)"
  std::string device;     // "cpu", "NVIDIA H100 80GB HBM3"

  // Of a training on `device` in this process. Throws DeviceError if one of the device's libraries is missing.
  static Fingerprint here(Device device, const CudaNeeds& needs = {});

  // A line "name: value" for each, and what such lines say. Names that are not there leave an empty text. REQUIRES for
  // text(): no part holds a newline.
  std::string text() const;
  static Fingerprint parse(std::string_view text);

  bool operator==(const Fingerprint&) const = default;
};

// What the weights of a training that goes on here, with the fingerprint `now`, may have to do with that, in one
// sentence. Empty if the fingerprints are equal.
std::string difference(const Fingerprint& saved, const Fingerprint& now);

}  // namespace millrace
