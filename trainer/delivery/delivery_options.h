// The configuration's key `delivery`: which way batches take to the step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/core/export.h"
#include "millrace/core/options.h"

namespace millrace {

enum class DeliveryKind : uint8_t {
  automatic,  // native
  native,     // the graph's last op writes into the step's own input
  staging,    // queue; on CUDA batches are copied to the device while it trains on others
  queue,      // tasks fill a queue of batches while the step runs; the step copies from the queue
  feed,       // the training thread makes each batch by itself, then copies it into the step's input
  constant,   // the first batch again and again: takes only the time of the steps
};

template <>
struct EnumNames<DeliveryKind> {
  static constexpr std::pair<std::string_view, DeliveryKind> kNames[] = {
      {"auto", DeliveryKind::automatic}, {"native", DeliveryKind::native}, {"staging", DeliveryKind::staging},
      {"queue", DeliveryKind::queue},    {"feed", DeliveryKind::feed},     {"constant", DeliveryKind::constant}};
};

// The configuration's key `delivery`: `KIND`, or `{kind: KIND}` with the options of that kind.
struct MILLRACE_EXPORT DeliveryOptions {
  static constexpr int64_t kCapacity = 5;

  DeliveryKind kind = DeliveryKind::automatic;
  // For `queue` and `staging`: how many batches may wait (absent: kCapacity), and how many tasks may decode at once
  // (absent: as the ops say).
  std::optional<int64_t> capacity = {}, threads = {};

  bool has_queue() const { return kind == DeliveryKind::queue || kind == DeliveryKind::staging; }
  void declare(OptionReader& o);
};

MILLRACE_DECLARE_OPTION_TYPE(DeliveryOptions);

}  // namespace millrace
