#include "millrace/trainer/delivery/batch_source.h"

#include <utility>

#include "millrace/core/clock.h"
#include "millrace/core/trace.h"

namespace millrace {

namespace {

// How many batches stay for a reader that is late. Eight small ones take at most 16 MiB on the host, in the types that
// are read. For each batch size they take as much on the device, or more if the model's type is larger.
constexpr int64_t kKept = 3, kSmallKept = 8;
constexpr size_t kSmallBatchBytes = size_t{2} << 20;

}  // namespace

BatchSource::BatchSource(InputGraph graph, PipelineOptions options, int64_t kept)
    : executor_(options.executor), pipeline_(std::move(graph), std::move(options)) {
  for (int64_t i = 0; i < kept; ++i) batches_.push_back(pipeline_.make_slot());
}

const RowBlock* BatchSource::next() {
  newest_ = (newest_ + 1) % batches_.size();
  RowBlock& batch = batches_[newest_];
  return pipeline_.next(batch) > 0 ? &batch : nullptr;
}

uint64_t BatchSource::memory_bound() const {
  uint64_t total = graph().memory_bound(executor_ == nullptr ? 1 : executor_->threads());
  for (const RowBlock& batch : batches_) total += batch.memory().total();
  return total;
}

DeliveryTimes BatchSource::times() const {
  const PipelineTimes times = pipeline_.times();
  const double waited = executor_ == nullptr ? 0 : times.wait_seconds;
  return {.make_seconds = times.next_seconds - waited, .wait_seconds = waited};
}

int64_t kept_for(Device reader, const Port& batches) {
  if (reader.is_cpu()) return 1;
  const auto rows = static_cast<size_t>(batches.batch_size);
  const bool small = !batches.rows.varies() && batches.rows.row_bytes() <= kSmallBatchBytes / rows;
  return small ? kSmallKept : kKept;
}

InternalError made_without_saves() {
  return InternalError("the delivery's state cannot be saved: it was made without", {}, "set DeliveryArgs::saves");
}

uint64_t copy_batch(const RowBlock& from, RowBlock& to, Trace* trace) {
  const Clock::time_point start = Clock::now();
  TraceRange range(trace, "delivery", "copy", start);
  to.resize(from.size());
  for (int64_t row = 0; row < from.size(); ++row) to.copy_row(from, row, row);
  const Clock::time_point end = Clock::now();
  range.set("rows", to.size());
  range.end(end);
  return nanoseconds_between(start, end);
}

}  // namespace millrace
