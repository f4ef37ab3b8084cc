// P1: whoever goes on from a saved training learns and tells the same, whatever kinds it is made of. The ops of the
// input: tests/input/graph/restored_ops_test.cpp.
#include <gtest/gtest.h>

#include "tests/trainer/checkpoint/every_kind.h"

namespace millrace::testing {
namespace {

TEST(RestoredTraining, GoesOnWithEveryLayer) { check_every_layer(Catalog::builtin()); }

TEST(RestoredTraining, GoesOnWithEveryLossAndMetric) { check_every_loss_and_metric(Catalog::builtin()); }

TEST(RestoredTraining, GoesOnWithEveryOptimizer) { check_every_optimizer(Catalog::builtin()); }

// How many batches were joined; it may forget them.
class Batches final : public Metric {
 public:
  struct Options {
    bool forgets = false;
    void declare(OptionReader& o) { o.optional("forgets", forgets, "whether it saves nothing"); }
  };
  static constexpr std::string_view kDoc = "the number of batches";

  explicit Batches(const Options& options) : options_(options) {}

  void check(const TensorSpec&, const TensorSpec&) const override {}
  std::unique_ptr<MetricPlan> plan(Context&, const MetricPlanArgs&) const override { return std::make_unique<Plan>(); }
  std::unique_ptr<MetricAccumulator> accumulator() const override { return std::make_unique<Sum>(options_.forgets); }
  bool less_is_better() const override { return true; }

 private:
  struct Plan final : MetricPlan {
    size_t partial_bytes() const override { return 1; }
    void run(Context&, const MetricArgs&) override {}
  };
  class Sum final : public MetricAccumulator {
   public:
    explicit Sum(bool forgets) : forgets_(forgets) {}
    void add(std::span<const std::byte>, int64_t) override { ++batches_; }
    double value() const override { return static_cast<double>(batches_); }
    void reset() override { batches_ = 0; }
    void save(State& state) const override {
      if (!forgets_) state.set("batches", batches_);
    }
    void restore(const State& state) override {
      if (!forgets_) batches_ = state.count("batches");
    }

   private:
    const bool forgets_;
    uint64_t batches_ = 0;
  };

  const Options options_;
};

// Adds up how often it was called, in a member that nobody saves.
class Remembering final : public Optimizer {
 public:
  static constexpr std::string_view kDoc = "smaller and smaller steps";
  void scalars(uint64_t, std::span<float> out) const override { out[0] = 0.1F / static_cast<float>(++updates_); }
  void update(Context&, const UpdateArgs& args) const override {
    for (int64_t i = 0; i < args.parameters.elements(); ++i) {
      args.parameters.as<float>()[i] -= args.scalars[0] * args.gradients.as<float>()[i];
    }
  }

 private:
  mutable int updates_ = 0;
};

TEST(RestoredTraining, IsFoundOutIfAKindForgets) {
  Catalog catalog = Catalog::builtin();
  catalog.add_metric<Batches>("batches");
  catalog.add_optimizer<Remembering>("remembering");
  const auto difference = [&](const std::string& metric, const std::string& optimizer) {
    return restore_difference(training_spec(training_of(8, "  - dense: {units: 1}\n",
                                                        cat("loss: mse\nmetrics: ", metric, "\noptimizer: ", optimizer,
                                                            "\ntrain: {report_over: window, log_every: 3}\n"))),
                              catalog);
  };
  const std::string sgd = "{sgd: {learning_rate: 0.1}}";
  EXPECT_EQ(difference("batches", sgd), "");
  EXPECT_TRUE(difference("{batches: {forgets: true}}", sgd).starts_with("restored after step 1: \"step 3 "));
  EXPECT_TRUE(difference("batches", "remembering").starts_with("restored after step 1: \"step 3 "));
}

}  // namespace
}  // namespace millrace::testing
