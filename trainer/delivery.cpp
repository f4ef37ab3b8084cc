#include "millrace/trainer/delivery.h"

#include <utility>

namespace millrace {

namespace {

PipelineOptions with_executor(PipelineOptions options, Executor* executor) {
  options.executor = executor;
  return options;
}

// What the kinds share whose pipeline stands where the step is: nothing is ahead but chunks.
class InStepDelivery : public Delivery {
 public:
  // `executor`: nullptr where everything runs inside next().
  InStepDelivery(InputGraph graph, PipelineOptions options, Executor* executor)
      : threads_(executor == nullptr ? 1 : executor->threads()),
        pipeline_(std::move(graph), with_executor(std::move(options), executor)),
        slot_(pipeline_.make_slot()) {}

  const RowBlock* next() override { return pipeline_.next(slot_) > 0 ? &slot_ : nullptr; }
  void stop() noexcept override { pipeline_.cancel(); }
  Place place(const RowId& id) const override { return pipeline_.place(id); }
  InputSummary summary() const override { return pipeline_.summary(); }
  InputStatistics statistics() const override { return pipeline_.statistics(); }
  State save() const override { return pipeline_.save(); }
  void restore(const State& state) override { pipeline_.restore(state); }
  const InputGraph& graph() const override { return pipeline_.graph(); }
  uint64_t memory_bound() const override { return graph().memory_bound(threads_) + slot_.memory().total(); }

 protected:
  const Pipeline& pipeline() const { return pipeline_; }

 private:
  const int threads_;
  Pipeline pipeline_;
  RowBlock slot_;
};

class NativeDelivery final : public InStepDelivery {
 public:
  NativeDelivery(InputGraph graph, DeliveryArgs args)
      : InStepDelivery(std::move(graph), std::move(args.pipeline), &args.executor) {}
};

class FeedDelivery final : public InStepDelivery {
 public:
  FeedDelivery(InputGraph graph, DeliveryArgs args)
      : InStepDelivery(std::move(graph), std::move(args.pipeline), nullptr), fed_(pipeline().make_slot()) {}

  const RowBlock* next() override {
    const RowBlock* made = InStepDelivery::next();
    if (made == nullptr) return nullptr;
    fed_.resize(made->size());
    for (int64_t row = 0; row < made->size(); ++row) fed_.copy_row(*made, row, row);
    return &fed_;
  }
  uint64_t memory_bound() const override { return InStepDelivery::memory_bound() + fed_.memory().total(); }

 private:
  RowBlock fed_;
};

}  // namespace

void DeliveryOptions::declare(OptionReader& o) { o.required("kind", kind, "how a batch reaches the step"); }

DeliveryOptions OptionType<DeliveryOptions>::read(const Spec& spec) {
  if (spec.is_map()) return read_options<DeliveryOptions>(spec);
  return {.kind = OptionType<DeliveryKind>::read(spec)};
}

std::vector<OptionForm> OptionType<DeliveryOptions>::forms() {
  std::vector<OptionForm> out = option_forms<DeliveryKind>();
  out.push_back({.is = OptionForm::Is::options, .options = describe_options<DeliveryOptions>()});
  return out;
}

std::unique_ptr<Delivery> Delivery::make(const DeliveryOptions& options, InputGraph graph, DeliveryArgs args) {
  switch (options.kind) {
    case DeliveryKind::automatic:
    case DeliveryKind::native: return std::make_unique<NativeDelivery>(std::move(graph), std::move(args));
    case DeliveryKind::feed: return std::make_unique<FeedDelivery>(std::move(graph), std::move(args));
  }
  throw InternalError("unknown delivery");
}

}  // namespace millrace
