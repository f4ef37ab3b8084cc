// A metric that counts the batches that it is computed for.
#pragma once

#include <memory>

#include "millrace/layers/loss.h"

namespace millrace {

class CountingMetric final : public Metric {
 public:
  // `batches` must outlive the plans.
  explicit CountingMetric(int& batches) : batches_(batches) {}

  void check(const TensorSpec&, const TensorSpec&) const override {}
  std::unique_ptr<MetricPlan> plan(Context&, const MetricPlanArgs&) const override {
    return std::make_unique<Plan>(batches_);
  }
  std::unique_ptr<MetricAccumulator> accumulator() const override { return std::make_unique<Accumulator>(); }
  bool less_is_better() const override { return false; }

 private:
  class Plan final : public MetricPlan {
   public:
    explicit Plan(int& batches) : batches_(batches) {}
    size_t partial_bytes() const override { return 1; }
    void run(Context&, const MetricArgs&) override { ++batches_; }

   private:
    int& batches_;
  };
  struct Accumulator final : MetricAccumulator {
    void add(std::span<const std::byte>, int64_t) override {}
    double value() const override { return 0; }
    void reset() override {}
    void save(State&) const override {}
    void restore(const State&) override {}
  };

  int& batches_;
};

}  // namespace millrace
