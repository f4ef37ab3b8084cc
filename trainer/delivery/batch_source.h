// BatchSource: a pipeline on the thread of the step, with batches of its own. It is the base of native, feed and
// constant.
#pragma once

#include <iterator>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/trainer/delivery/delivery.h"

namespace millrace {

class BatchSource : public Delivery {
 public:
  // Without an executor in `options` everything runs inside next(). `kept`: how many calls of next() a batch stays for.
  BatchSource(InputGraph graph, PipelineOptions options, int64_t kept);

  const RowBlock* next() override;
  int64_t kept() const override { return std::ssize(batches_); }
  void stop() noexcept override { pipeline_.cancel(); }
  Place place(const RowId& id) const override { return pipeline_.place(id); }
  InputSummary summary() const override { return pipeline_.summary(); }
  std::optional<double> share() const override { return pipeline_.share(); }
  DeliveryStatistics statistics() const override { return {.times = times(), .input = pipeline_.statistics()}; }
  DeliveryTimes times() const override;
  State save() const override { return pipeline_.save(); }
  void restore(const State& state) override { pipeline_.restore(state); }
  const InputGraph& graph() const override { return pipeline_.graph(); }
  uint64_t memory_bound() const override;

 protected:
  const Pipeline& pipeline() const { return pipeline_; }

 private:
  const Executor* const executor_;
  Pipeline pipeline_;
  std::vector<RowBlock> batches_;
  size_t newest_ = 0;
};

// For how many calls of next() a batch stays, so that `reader` can read it while others are made. Small batches stay
// longer, because a device finishes each of them quickly.
int64_t kept_for(Device reader, const Port& batches);

// The error of save() if the delivery was made without DeliveryArgs::saves.
InternalError made_without_saves();

// Copies the rows of `from` to `to`, which has an equal spec; returns the nanoseconds that it took. `trace` may be
// null.
uint64_t copy_batch(const RowBlock& from, RowBlock& to, Trace* trace = nullptr);

}  // namespace millrace
