// The configuration's key `compare`: the deliveries that `trainer compare` runs one after another.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "millrace/core/export.h"
#include "millrace/core/options.h"
#include "millrace/trainer/delivery/delivery_options.h"

namespace millrace {

// One delivery: `KIND`, or a map with the keys of `delivery` and more.
struct MILLRACE_EXPORT CompareItem {
  DeliveryOptions delivery;
  std::optional<int64_t> batch_size;  // absent: the configuration's own
  std::string name;                   // its name; empty: its kind, with the size of its batches
  bool workers = false;               // two workers on this machine decode for it

  void declare(OptionReader& o);
};

MILLRACE_DECLARE_OPTION_TYPE(CompareItem);

struct MILLRACE_EXPORT CompareOptions {
  std::vector<CompareItem> deliveries;
  int64_t rounds = 5;
  int64_t warm_up = 10;

  // feed, queue, staging, native and constant.
  CompareOptions();
  void declare(OptionReader& o);
};

}  // namespace millrace
