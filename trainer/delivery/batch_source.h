// BatchSource: a pipeline on the thread of the step, with one batch of its own: what native, feed and constant share.
#pragma once

#include "millrace/core/errors.h"
#include "millrace/trainer/delivery/delivery.h"

namespace millrace {

class BatchSource : public Delivery {
 public:
  // `executor`: nullptr where everything runs inside next().
  BatchSource(InputGraph graph, PipelineOptions options, Executor* executor);

  const RowBlock* next() override { return pipeline_.next(batch_) > 0 ? &batch_ : nullptr; }
  void stop() noexcept override { pipeline_.cancel(); }
  Place place(const RowId& id) const override { return pipeline_.place(id); }
  InputSummary summary() const override { return pipeline_.summary(); }
  DeliveryStatistics statistics() const override { return {.times = times(), .input = pipeline_.statistics()}; }
  DeliveryTimes times() const override;
  State save() const override { return pipeline_.save(); }
  void restore(const State& state) override { pipeline_.restore(state); }
  const InputGraph& graph() const override { return pipeline_.graph(); }
  uint64_t memory_bound() const override { return graph().memory_bound(threads_) + batch_.memory().total(); }

 protected:
  const Pipeline& pipeline() const { return pipeline_; }

 private:
  const int threads_;
  const bool inline_;
  Pipeline pipeline_;
  RowBlock batch_;
};

// What save() throws of a kind that was made without DeliveryArgs::saves.
InternalError made_without_saves();

// Makes `to` hold the rows of `from`, of an equal spec; returns the nanoseconds that it took. `trace` may be null.
uint64_t copy_batch(const RowBlock& from, RowBlock& to, Trace* trace = nullptr);

}  // namespace millrace
