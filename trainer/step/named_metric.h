// Metrics by the names under which a configuration asks for them.
#pragma once

#include <memory>
#include <string>

#include "millrace/core/errors.h"
#include "millrace/layers/loss.h"

namespace millrace {

struct NamedMetric {
  std::string name;
  std::unique_ptr<Metric> metric;
  Place place = {};  // in the configuration
};

}  // namespace millrace
