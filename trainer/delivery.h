// Delivery: how a batch reaches the step. Every kind trains on the same batches, so all end with the same weights.
//
// One thread calls next(); stop() may be called from any thread and from a signal handler.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/executor.h"
#include "millrace/input/graph/pipeline.h"

namespace millrace {

enum class DeliveryKind : uint8_t {
  native,  // the graph's last op writes into the step's own input
  feed,    // the training thread makes each batch alone, then copies it into the step's input
};

template <>
struct EnumNames<DeliveryKind> {
  static constexpr std::pair<std::string_view, DeliveryKind> kNames[] = {{"native", DeliveryKind::native},
                                                                         {"feed", DeliveryKind::feed}};
};

struct DeliveryArgs {
  DeliveryKind kind = DeliveryKind::native;
  Executor& executor;
  PipelineOptions pipeline;  // callbacks and pinned memory; the executor is set by the delivery
};

class Delivery {
 public:
  // Starts to decode ahead where the kind does so.
  static std::unique_ptr<Delivery> make(InputGraph graph, DeliveryArgs args);
  virtual ~Delivery() = default;

  // The next batch, or nullptr at the end of the data and after stop(). Valid until the next call, which must not come
  // before the step has read it. Throws the error that the batch runs into.
  virtual const RowBlock* next() = 0;
  // The graph that runs.
  virtual Pipeline& pipeline() = 0;
  void stop() noexcept { pipeline().cancel(); }
};

}  // namespace millrace
