// feed: works like a program that makes batches itself and hands them to the step. All ops run on the thread of the
// step, before the step. The batch is copied, because it lies in memory that the step does not know.
#include <utility>

#include "millrace/trainer/delivery/batch_source.h"
#include "millrace/trainer/delivery/kinds.h"

namespace millrace {

namespace {

class FeedDelivery final : public BatchSource {
 public:
  FeedDelivery(InputGraph graph, DeliveryArgs args)
      : BatchSource(std::move(graph), args.pipeline, 1), trace_(args.pipeline.trace), fed_(pipeline().make_slot()) {}

  const RowBlock* next() override {
    const RowBlock* made = BatchSource::next();
    if (made == nullptr) return nullptr;
    copy_nanoseconds_ += copy_batch(*made, fed_, trace_);
    return &fed_;
  }
  DeliveryTimes times() const override {
    DeliveryTimes out = BatchSource::times();
    out.copy_seconds = 1e-9 * static_cast<double>(copy_nanoseconds_);
    return out;
  }
  uint64_t memory_bound() const override { return BatchSource::memory_bound() + fed_.memory().total(); }

 private:
  Trace* const trace_;
  RowBlock fed_;
  uint64_t copy_nanoseconds_ = 0;
};

}  // namespace

std::unique_ptr<Delivery> make_feed(InputGraph graph, DeliveryArgs args) {
  args.pipeline.executor = nullptr;
  return std::make_unique<FeedDelivery>(std::move(graph), std::move(args));
}

}  // namespace millrace
