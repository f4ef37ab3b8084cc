#include "millrace/trainer/step/inline_step.h"

#include <gtest/gtest.h>

#include "millrace/core/errors.h"
#include "tests/trainer/step/planned_step.h"

namespace millrace {
namespace {

// dense(1) without weights, whose bias alone learns.
class InlineStepTest : public ::testing::Test {
 protected:
  InlineStepTest() {
    made_.model.parameter(0).as<float>()[0] = made_.model.parameter(0).as<float>()[1] = 0;
    batch_.configure(made_.rows, 4);
    batch_.resize(4);
    for (int64_t row = 0; row < 4; ++row) {
      batch_.row<float>(0, row)[0] = batch_.row<float>(0, row)[1] = 0;
      batch_.row<float>(1, row)[0] = 3;
    }
  }
  StepArgs args() {
    return {.model = made_.model, .context = context_, .loss = *made_.loss, .optimizer = *sgd_, .rows = made_.rows};
  }
  float bias() { return made_.model.parameter(1).as<float>()[0]; }

  Executor executor_{1};
  Context context_{Device::cpu(), executor_};
  testing::PlannedStep made_{context_, 1};
  std::unique_ptr<Optimizer> sgd_ = made_.optimizer("sgd", 0.25);
  RowBlock batch_;
};

TEST_F(InlineStepTest, IsOverWhenItReturns) {
  InlineStep step(args());
  EXPECT_EQ(step.run(batch_), StepOutcome::trained);
  EXPECT_EQ(bias(), 1.5F) << "a quarter of 2 * 3";
  EXPECT_EQ(step.run(batch_), StepOutcome::trained);
  EXPECT_EQ(bias(), 2.25F);
  EXPECT_EQ(step.forward_passes, 2U);
  EXPECT_FALSE(step.recorded);
}

TEST_F(InlineStepTest, JoinsTheBatchesOfAWindow) {
  StepArgs windowed = args();
  windowed.window_batches = 2;
  InlineStep step(windowed);
  step.run(batch_);
  step.run(batch_);
  EXPECT_EQ(step.scores.loss(), (9 + 2.25) / 2);
  step.start_window();
  step.run(batch_);
  EXPECT_EQ(step.scores.loss(), 0.5625);
}

TEST_F(InlineStepTest, LeavesTheLastBatchWhenOneMakesNoSense) {
  made_.loss = made_.catalog.losses.make({"sigmoid_cross_entropy", Spec::map()}, Spec::map());
  InlineStep step(args());
  EXPECT_THROW(step.run(batch_), DataError);
  EXPECT_EQ(step.error_row, 0);
  EXPECT_EQ(step.plan, nullptr);
  EXPECT_EQ(bias(), 0);
}

}  // namespace
}  // namespace millrace
