// A metric that a C program computes: it is given all rows of a report at once.
#pragma once

#include <string>

#include "millrace/c.h"
#include "millrace/layers/loss.h"

namespace millrace::c {

struct ProgramMetric {
  std::string kind;
  bool less_is_better = false;
  millrace_metric call = nullptr;
  void* user = nullptr;
};

// A kind without options.
MetricRegistry::Entry metric_entry(const ProgramMetric& metric);

}  // namespace millrace::c
