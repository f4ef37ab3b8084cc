// The shapes of a Schedule (optimizer.h) that a configuration may name.
#pragma once

#include <cstdint>

#include "millrace/core/export.h"
#include "millrace/core/registry.h"
#include "millrace/layers/optimizer.h"

namespace millrace {

class MILLRACE_EXPORT ScheduleShape {
 public:
  virtual ~ScheduleShape() = default;
  // `step` counts the updates before this one, from 0. The factor is not negative, and has the same bits on every
  // processor. REQUIRES: the default floating-point mode (FloatMode).
  virtual double factor(uint64_t step) const = 0;
};

using ScheduleRegistry = Registry<ScheduleShape>;
MILLRACE_EXPORT ScheduleRegistry schedules();

}  // namespace millrace
