#include "millrace/trainer/delivery.h"

#include <utility>

namespace millrace {

namespace {

PipelineOptions with_executor(PipelineOptions options, Executor* executor) {
  options.executor = executor;
  return options;
}

class NativeDelivery final : public Delivery {
 public:
  NativeDelivery(InputGraph graph, DeliveryArgs args)
      : pipeline_(std::move(graph), with_executor(std::move(args.pipeline), &args.executor)),
        slot_(pipeline_.make_slot()) {}

  const RowBlock* next() override { return pipeline_.next(slot_) > 0 ? &slot_ : nullptr; }
  Pipeline& pipeline() override { return pipeline_; }

 private:
  Pipeline pipeline_;
  RowBlock slot_;
};

class FeedDelivery final : public Delivery {
 public:
  FeedDelivery(InputGraph graph, DeliveryArgs args)
      : pipeline_(std::move(graph), with_executor(std::move(args.pipeline), nullptr)),
        made_(pipeline_.make_slot()),
        fed_(pipeline_.make_slot()) {}

  const RowBlock* next() override {
    const int64_t rows = pipeline_.next(made_);
    if (rows == 0) return nullptr;
    fed_.resize(rows);
    for (int64_t row = 0; row < rows; ++row) fed_.copy_row(made_, row, row);
    return &fed_;
  }
  Pipeline& pipeline() override { return pipeline_; }

 private:
  Pipeline pipeline_;
  RowBlock made_;
  RowBlock fed_;
};

}  // namespace

std::unique_ptr<Delivery> Delivery::make(InputGraph graph, DeliveryArgs args) {
  switch (args.kind) {
    case DeliveryKind::native: return std::make_unique<NativeDelivery>(std::move(graph), std::move(args));
    case DeliveryKind::feed: return std::make_unique<FeedDelivery>(std::move(graph), std::move(args));
  }
  throw InternalError("unknown delivery");
}

}  // namespace millrace
