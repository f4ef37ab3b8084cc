// The configuration's key `checkpoint`: where and how often the whole state of a training is written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "millrace/core/export.h"
#include "millrace/core/options.h"
#include "millrace/trainer/delivery/delivery_options.h"

namespace millrace {

class InputGraph;

// `DIR`, or `{dir: DIR}` with more keys. At least one of `every` and `minutes` is set. If both are, the one that comes
// first counts.
struct MILLRACE_EXPORT CheckpointOptions {
  static constexpr double kMinutes = 10;  // if neither is given

  std::string dir;
  std::optional<int64_t> every;   // steps
  std::optional<double> minutes;  // more than 0
  int64_t keep = 3;

  void declare(OptionReader& o);
};

MILLRACE_DECLARE_OPTION_TYPE(CheckpointOptions);

// Throws ConfigError if a training with this input and delivery could not go on from a checkpoint. `node`, the value of
// the key, is the place of the error.
void check_checkpoint(const Spec& node, const InputGraph& input, const DeliveryOptions& delivery);

}  // namespace millrace
