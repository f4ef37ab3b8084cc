// What a step on the CPU does with its batches, seen from outside.
#include <gtest/gtest.h>

#include <limits>

#include "millrace/trainer/step/step.h"
#include "tests/trainer/step/planned_step.h"

namespace millrace {
namespace {

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
  const auto step = TrainStep::make(args());
  step->run(batch(1));
  const double loss = step->loss();
  const float trained = bias();
  try {
    step->run(batch(3));
    FAIL();
  } catch (const RowError& error) {
    EXPECT_EQ(error.row, 0);
  }
  EXPECT_EQ(step->loss(), loss);
  EXPECT_EQ(bias(), trained);
  EXPECT_EQ(step->steps(), 1U);
}

TEST_F(StepPiecesTest, UpdateAfterTheLastOfSeveralBatches) {
  const auto step = TrainStep::make(with({.accumulate = 2}));
  step->run(batch(3));
  EXPECT_EQ(bias(), 0);
  EXPECT_EQ(step->updates(), 0U);
  step->run(batch(3));
  EXPECT_EQ(bias(), 1.5F);
  EXPECT_EQ(step->updates(), 1U);
}

TEST_F(StepPiecesTest, FlushWhatWasGathered) {
  const auto step = TrainStep::make(with({.accumulate = 2}));
  EXPECT_EQ(step->flush(), StepOutcome::trained);
  EXPECT_EQ(step->updates(), 0U);
  step->run(batch(3));
  EXPECT_EQ(step->flush(), StepOutcome::trained);
  EXPECT_EQ(bias(), 1.5F);
  EXPECT_EQ(step->updates(), 1U);
}

TEST_F(StepPiecesTest, SkipABatchWhoseLossIsNotFinite) {
  const auto step = TrainStep::make(with({.check_finite = true}));
  EXPECT_EQ(step->run(batch(3)), StepOutcome::trained);
  EXPECT_EQ(bias(), 1.5F);
  EXPECT_EQ(step->run(batch(std::numeric_limits<float>::max())), StepOutcome::loss_not_finite);
  EXPECT_EQ(bias(), 1.5F);
  EXPECT_EQ(step->skipped(), 1U);
}

}  // namespace
}  // namespace millrace
