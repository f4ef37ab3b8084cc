// What a delivery did, and where its time went.
#pragma once

#include <cstdint>
#include <optional>

#include "millrace/input/graph/pipeline.h"

namespace millrace {

// Where the time of the thread that calls next() went.
struct DeliveryTimes {
  double make_seconds = 0;  // making batches itself
  double wait_seconds = 0;  // waiting for what others make; it helps meanwhile
  double copy_seconds = 0;  // copying batches into the step's input

  double total() const { return make_seconds + wait_seconds + copy_seconds; }
};

struct DeliveryStatistics {
  DeliveryTimes times;
  // Of a queue of batches: how many waited for each call of next(), on average, and how many may.
  std::optional<double> mean_queued = {};
  int64_t capacity = 0;
  InputStatistics input;  // what the ops did, for these batches and ahead of them
};

}  // namespace millrace
