// The pieces of a step on the CPU, one after another.
#include <gtest/gtest.h>

#include <limits>

#include "millrace/trainer/step/step.h"
#include "tests/trainer/step/planned_step.h"

namespace millrace {
namespace {

// A step that looks at the parameters between its pieces.
class WatchedStep final : public TrainStep {
 public:
  explicit WatchedStep(const StepArgs& args) : TrainStep(args, 1) {}

  float bias() { return model().parameter(1).as<float>()[0]; }
  bool has_batch() const { return plan_ != nullptr; }
  StepOutcome run(const RowBlock& batch) override {
    StepPlan& of_size = plan_for(batch.size());
    load(args_.context, of_size.slots[0], batch);
    begin(of_size, of_size.slots[0]);
    forward();
    score();
    fetch(args_.context);
    ++steps_;
    before_backward = bias();
    if (!loss_is_fine()) return skip_batch();
    backward();
    after_backward = bias();
    return end_batch();
  }

  float before_backward = 0, after_backward = 0;
};

// The model is a dense(1) whose weights are 0: the tests look at its bias only.
class StepPiecesTest : public ::testing::Test {
 protected:
  StepPiecesTest() { made_.model.parameter(0).as<float>()[0] = made_.model.parameter(0).as<float>()[1] = 0; }

  StepArgs args() {
    return {.model = made_.model, .context = context_, .loss = *made_.loss, .optimizer = *sgd_, .rows = made_.rows};
  }
  StepArgs with(const GradientOptions& options) {
    StepArgs out = args();
    out.gradients = options;
    return out;
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
  float bias() { return made_.model.parameter(1).as<float>()[0]; }

  Executor executor_{1};
  Context context_{Device::cpu(), executor_};
  testing::PlannedStep made_{context_, 1};
  std::unique_ptr<Optimizer> sgd_ = made_.optimizer("sgd", 0.25);
};

TEST_F(StepPiecesTest, AreDoneWhenTheStepReturns) {
  const auto step = TrainStep::make(args());
  EXPECT_EQ(step->run(batch(3)), StepOutcome::trained);
  EXPECT_EQ(bias(), 1.5F) << "a quarter of 2 * 3";
  EXPECT_EQ(step->run(batch(3)), StepOutcome::trained);
  EXPECT_EQ(bias(), 2.25F);
  EXPECT_EQ(step->steps(), 2U);
  EXPECT_FALSE(step->recorded());
}

TEST_F(StepPiecesTest, JoinTheBatchesOfAWindow) {
  StepArgs windowed = args();
  windowed.window_batches = 2;
  const auto step = TrainStep::make(windowed);
  step->run(batch(3));
  step->run(batch(3));
  EXPECT_EQ(step->loss(), (9 + 2.25) / 2);
  step->start_window();
  step->run(batch(3));
  EXPECT_EQ(step->loss(), 0.5625);
}

TEST_F(StepPiecesTest, LeaveTheLastBatchWhenOneMakesNoSense) {
  made_.loss = made_.catalog.losses.make({"sigmoid_cross_entropy", Spec::map()}, Spec::map());
  WatchedStep step(args());
  try {
    step.run(batch(3));
    FAIL();
  } catch (const RowError& error) {
    EXPECT_EQ(error.row, 0);
  }
  EXPECT_FALSE(step.has_batch());
  EXPECT_EQ(bias(), 0);
}

TEST_F(StepPiecesTest, UpdateWithTheBackwardPass) {
  WatchedStep step(args());
  EXPECT_EQ(step.run(batch(3)), StepOutcome::trained);
  EXPECT_EQ(step.before_backward, 0);
  EXPECT_EQ(step.after_backward, 1.5F);
  EXPECT_EQ(step.updates(), 1U);
}

TEST_F(StepPiecesTest, UpdateAfterTheLastOfSeveralBatches) {
  WatchedStep step(with({.accumulate = 2}));
  step.run(batch(3));
  EXPECT_EQ(step.after_backward, 0);
  EXPECT_EQ(step.updates(), 0U);
  step.run(batch(3));
  EXPECT_EQ(step.after_backward, 1.5F);
  EXPECT_EQ(step.updates(), 1U);
}

TEST_F(StepPiecesTest, FlushWhatWasGathered) {
  WatchedStep step(with({.accumulate = 2}));
  EXPECT_EQ(step.flush(), StepOutcome::trained);
  EXPECT_EQ(step.updates(), 0U);
  step.run(batch(3));
  EXPECT_EQ(step.flush(), StepOutcome::trained);
  EXPECT_EQ(step.bias(), 1.5F);
  EXPECT_EQ(step.updates(), 1U);
}

TEST_F(StepPiecesTest, LookAtTheGradientBeforeItIsUsed) {
  WatchedStep step(with({.check_finite = true}));
  EXPECT_EQ(step.run(batch(3)), StepOutcome::trained);
  EXPECT_EQ(step.after_backward, 0);
  EXPECT_EQ(step.bias(), 1.5F);
  EXPECT_EQ(step.run(batch(std::numeric_limits<float>::max())), StepOutcome::loss_not_finite);
  EXPECT_EQ(step.bias(), 1.5F);
  EXPECT_EQ(step.skipped(), 1U);
}

}  // namespace
}  // namespace millrace
