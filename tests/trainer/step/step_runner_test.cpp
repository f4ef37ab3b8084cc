#include "millrace/trainer/step/step_runner.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/trainer/step/planned_step.h"

namespace millrace {
namespace {

// A body that looks at the parameters between the pieces.
struct WatchedStep final : StepRunner {
  explicit WatchedStep(const StepArgs& step_args) : StepRunner(step_args, 1) {}

  float bias() { return args.model.parameter(1).as<float>()[0]; }
  StepOutcome run(const RowBlock& batch) override {
    StepPlan& of_size = plan_for(batch.size());
    load(args.context, of_size.slots[0], batch);
    begin(of_size, of_size.slots[0]);
    forward();
    score();
    fetch(args.context);
    ++forward_passes;
    before_backward = bias();
    if (!loss_is_fine()) return skip_batch();
    backward();
    after_backward = bias();
    return end_batch();
  }

  float before_backward = 0, after_backward = 0;
};

class StepRunnerTest : public ::testing::Test {
 protected:
  WatchedStep make(const GradientOptions& options) {
    return WatchedStep({.model = made_.model,
                        .context = context_,
                        .loss = *made_.loss,
                        .optimizer = *sgd_,
                        .rows = made_.rows,
                        .gradients = options});
  }
  RowBlock batch(float label) const {
    RowBlock out;
    out.configure(made_.rows, 4);
    out.resize(4);
    for (int64_t row = 0; row < 4; ++row) {
      out.row<float>(0, row)[0] = out.row<float>(0, row)[1] = 0;
      out.row<float>(1, row)[0] = label;
    }
    return out;
  }

  Executor executor_{1};
  Context context_{Device::cpu(), executor_};
  testing::PlannedStep made_{context_, 1};
  std::unique_ptr<Optimizer> sgd_ = made_.optimizer("sgd", 0.25);
};

TEST_F(StepRunnerTest, UpdatesWithTheBackwardPass) {
  WatchedStep step = make({});
  EXPECT_EQ(step.run(batch(3)), StepOutcome::trained);
  EXPECT_EQ(step.before_backward, 0);
  EXPECT_EQ(step.after_backward, 1.5F);
  EXPECT_EQ(step.updates, 1U);
}

TEST_F(StepRunnerTest, UpdatesAfterTheLastOfSeveralBatches) {
  WatchedStep step = make({.accumulate = 2});
  step.run(batch(3));
  EXPECT_EQ(step.after_backward, 0);
  EXPECT_EQ(step.updates, 0U);
  step.run(batch(3));
  EXPECT_EQ(step.after_backward, 1.5F);
  EXPECT_EQ(step.updates, 1U);
}

TEST_F(StepRunnerTest, FlushesWhatWasGathered) {
  WatchedStep step = make({.accumulate = 2});
  EXPECT_EQ(step.flush(), StepOutcome::trained);
  EXPECT_EQ(step.updates, 0U);
  step.run(batch(3));
  EXPECT_EQ(step.flush(), StepOutcome::trained);
  EXPECT_EQ(step.bias(), 1.5F);
  EXPECT_EQ(step.updates, 1U);
}

TEST_F(StepRunnerTest, LooksAtTheGradientBeforeItIsUsed) {
  WatchedStep step = make({.check_finite = true});
  EXPECT_EQ(step.run(batch(3)), StepOutcome::trained);
  EXPECT_EQ(step.after_backward, 0);
  EXPECT_EQ(step.bias(), 1.5F);
  EXPECT_EQ(step.run(batch(std::numeric_limits<float>::max())), StepOutcome::loss_not_finite);
  EXPECT_EQ(step.bias(), 1.5F);
  EXPECT_EQ(step.skipped, 1U);
}

}  // namespace
}  // namespace millrace
