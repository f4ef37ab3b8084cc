// constant: the first batch of the data, again and again. With it, a training takes the time of its steps only.
#include <utility>

#include "millrace/trainer/delivery/batch_source.h"
#include "millrace/trainer/delivery/kinds.h"

namespace millrace {

namespace {

class ConstantDelivery final : public BatchSource {
 public:
  ConstantDelivery(InputGraph graph, DeliveryArgs args)
      : BatchSource(std::move(graph), args.pipeline, 1),
        saves_(args.saves),
        kept_(kept_for(args.pipeline.reader, BatchSource::graph().output())) {}

  // Its batch never changes.
  int64_t kept() const override { return kept_; }
  bool repeats() const override { return true; }

  const RowBlock* next() override {
    if (pipeline().cancelled()) return nullptr;
    if (given_ == 0) {
      if (saves_) before_ = pipeline().save();
      batch_ = BatchSource::next();
    }
    if (batch_ != nullptr) ++given_;
    return batch_;
  }
  InputSummary summary() const override {
    InputSummary out = BatchSource::summary();
    out.batches = given_;
    out.rows *= given_;
    out.share.reset();
    return out;
  }
  std::optional<double> share() const override { return {}; }
  // A restored delivery gives the same batch.
  State save() const override {
    if (given_ == 0) return BatchSource::save();
    if (!saves_) throw made_without_saves();
    return before_;
  }
  std::vector<std::string> warnings() const override {
    std::vector<std::string> out = BatchSource::warnings();
    out.push_back("delivery constant trains only on the first batch, again and again: it is for measuring");
    return out;
  }

 private:
  const bool saves_;
  const int64_t kept_;
  const RowBlock* batch_ = nullptr;
  uint64_t given_ = 0;
  State before_;
};

}  // namespace

std::unique_ptr<Delivery> make_constant(InputGraph graph, DeliveryArgs args) {
  args.pipeline.executor = &args.executor;
  return std::make_unique<ConstantDelivery>(std::move(graph), std::move(args));
}

}  // namespace millrace
