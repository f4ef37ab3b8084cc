// Delivery: how a batch reaches the step. Every kind trains on the same batches, so all end with the same weights.
//
//   const auto delivery = Delivery::make({.kind = DeliveryKind::native}, std::move(graph), {.executor = executor});
//   while (const RowBlock* batch = delivery->next()) step.run(*batch);
//
// One thread uses a Delivery; stop() and place() may be called from any thread. What works ahead of the step inside is
// never seen: summary() and save() speak of the batches that next() gave.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "millrace/core/executor.h"
#include "millrace/core/options.h"
#include "millrace/input/graph/pipeline.h"

namespace millrace {

enum class DeliveryKind : uint8_t {
  automatic,  // native
  native,     // the graph's last op writes into the step's own input
  feed,       // the training thread makes each batch alone, then copies it into the step's input
};

template <>
struct EnumNames<DeliveryKind> {
  static constexpr std::pair<std::string_view, DeliveryKind> kNames[] = {
      {"auto", DeliveryKind::automatic}, {"native", DeliveryKind::native}, {"feed", DeliveryKind::feed}};
};

// The configuration's key `delivery`: `KIND`, or `{kind: KIND}` with the options of that kind.
struct DeliveryOptions {
  DeliveryKind kind = DeliveryKind::automatic;

  void declare(OptionReader& o);
};

template <>
struct OptionType<DeliveryOptions> {
  static DeliveryOptions read(const Spec& spec);
  static Spec write(const DeliveryOptions& value) { return OptionType<DeliveryKind>::write(value.kind); }
  static std::string type() { return OptionType<DeliveryKind>::type(); }
  static std::vector<OptionForm> forms();
};

struct DeliveryArgs {
  Executor& executor;             // outlives the delivery
  PipelineOptions pipeline = {};  // callbacks and pinned memory; the executor is set by the delivery
};

class Delivery {
 public:
  // Nothing is read before the first next().
  static std::unique_ptr<Delivery> make(const DeliveryOptions& options, InputGraph graph, DeliveryArgs args);
  virtual ~Delivery() = default;

  // The next batch with the ids of its rows, or nullptr at the end of the data and after stop(). Valid until the next
  // call, which must not come before the step has read it. Throws the error that the batch runs into.
  virtual const RowBlock* next() = 0;
  // Makes next() return nullptr soon, also a call that waits now. Idempotent.
  virtual void stop() noexcept = 0;

  // Where a row of a batch that next() gave came from.
  virtual Place place(const RowId& id) const = 0;
  // Of the batches that next() gave, and of what was left out on the way to them.
  virtual InputSummary summary() const = 0;
  // What the ops did so far, for these batches and ahead of them.
  virtual InputStatistics statistics() const = 0;

  // The state behind the last batch that next() gave. Throws as Pipeline::save().
  virtual State save() const = 0;
  // Goes on from there, whatever kind saved it. REQUIRES: next() was not called yet. Throws as Pipeline::restore().
  virtual void restore(const State& state) = 0;

  // The graph that gives the batches.
  virtual const InputGraph& graph() const = 0;
  // An upper bound of the bytes that graph and batches take (P5).
  virtual uint64_t memory_bound() const = 0;
};

}  // namespace millrace
