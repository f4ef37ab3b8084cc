// Delivery: how a batch reaches the step. Every kind gives the same batches, so all trainings end with the same
// weights; only `constant` gives its first batch over and over.
//
//   const auto delivery = Delivery::make({.kind = DeliveryKind::native}, std::move(graph), {.executor = executor});
//   while (const RowBlock* batch = delivery->next()) step.run(*batch);
//
// One thread uses a Delivery; stop() and place() may be called from any thread. A delivery may make batches ahead of
// the step, but this is never seen: callbacks, summary() and save() are about the batches that next() gave, and an
// error comes when its batch would.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "millrace/core/context.h"
#include "millrace/input/graph/pipeline.h"
#include "millrace/trainer/delivery/delivery_options.h"

namespace millrace {

struct DeliveryArgs {
  Executor& executor;             // outlives the delivery
  PipelineOptions pipeline = {};  // callbacks and pinned memory; executor and threads are set by the delivery
  // Whether save() will be called: only then do kinds that work ahead keep the state after each batch.
  bool saves = false;
};

class Delivery {
 public:
  // Nothing is read before the first next().
  static std::unique_ptr<Delivery> make(const DeliveryOptions& options, InputGraph graph, DeliveryArgs args);
  virtual ~Delivery() = default;

  // The next batch with the ids of its rows, or nullptr at the end of the data and after stop(). It stays as it is
  // until next() is called kept() times; the last of these must not come before the step has read it. Throws the error
  // that the batch runs into.
  virtual const RowBlock* next() = 0;
  // More than one if a device reads batches while others are made.
  virtual int64_t kept() const { return 1; }
  // Whether next() always gives the same batch, which never changes.
  virtual bool repeats() const { return false; }
  // Makes next() return nullptr soon, also a call that waits now. Idempotent.
  virtual void stop() noexcept = 0;

  // Where a row of a batch that next() gave came from.
  virtual Place place(const RowId& id) const = 0;
  // Counts the batches that next() gave, and what was left out on the way to them.
  virtual InputSummary summary() const = 0;
  // The part of summary() that is cheap.
  virtual std::optional<double> share() const = 0;
  // Waits until no batch is being made, which is soon if stop() was called.
  virtual DeliveryStatistics statistics() const = 0;
  // The part of statistics() that is cheap.
  virtual DeliveryTimes times() const = 0;
  // Batches that lie in the queue now; 0 if there is no queue. Cheap.
  virtual int64_t queued() const { return 0; }

  // The state after the last batch that next() gave. Throws what Pipeline::save() throws, and InternalError without
  // DeliveryArgs::saves.
  virtual State save() const = 0;
  // Goes on from a saved state, whichever kind saved it. REQUIRES: next() was not called yet. Throws what
  // Pipeline::restore() throws.
  virtual void restore(const State& state) = 0;

  virtual const InputGraph& graph() const = 0;
  // Things that are allowed but unlikely to be meant, those of the graph among them.
  virtual std::vector<std::string> warnings() const { return graph().warnings(); }
  // An upper bound of the bytes that graph and batches take (P5).
  virtual uint64_t memory_bound() const = 0;
};

}  // namespace millrace
