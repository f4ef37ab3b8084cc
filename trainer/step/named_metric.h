// Metrics by the names under which a configuration asks for them, and what they came to.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/layers/metric.h"

namespace millrace {

struct NamedMetric {
  std::string name;
  std::unique_ptr<Metric> metric;
  Place place = {};  // in the configuration
};

using MetricValues = std::vector<std::pair<std::string, double>>;

}  // namespace millrace
