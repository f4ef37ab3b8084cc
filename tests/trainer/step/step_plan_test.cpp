#include "millrace/trainer/step/step_plan.h"

#include <gtest/gtest.h>

#include "millrace/trainer/step/step.h"
#include "tests/support/cuda.h"
#include "tests/trainer/step/planned_step.h"

#if defined(MILLRACE_CUDA_EMULATED)
#include "tests/emulated_gpu/emulated_gpu.h"
#endif

namespace millrace {
namespace {

using testing::PlannedStep;

// Scalars that tell which updates came before.
class Counting final : public Optimizer {
 public:
  int scalar_count() const override { return 2; }
  void scalars(uint64_t updates, std::span<float> out) const override {
    out[0] = static_cast<float>(updates);
    out[1] = -out[0];
  }
  void update(Context&, const UpdateArgs&) const override {}
};

TEST(StepNumbers, ArriveWhenTheyAreBrought) {
  const Counting optimizer;
  Executor executor(1);
  Context context(Device::cpu(), executor);
  StepNumbers numbers(Device::cpu(), optimizer);
  for (const uint64_t step : {uint64_t{0}, uint64_t{1} << 40}) {
    numbers.bring(context, step, step + 3);
    EXPECT_EQ(*numbers.pass(), step);
    EXPECT_EQ(numbers.scalars()[0], static_cast<float>(step + 3));
    EXPECT_EQ(numbers.scalars()[1], -static_cast<float>(step + 3));
  }
  EXPECT_EQ(numbers.bytes(), 2 * (sizeof(uint64_t) + 2 * sizeof(float)));
}

TEST(StepPlan, CountsWhatEachSlotHolds) {
  Executor executor(1);
  Context context(Device::cpu(), executor);
  const PlannedStep one(context, 1), three(context, 3);
  EXPECT_EQ(three.plan.slots.size(), 3U);
  EXPECT_EQ(one.plan.rows, 4);
  const StepPlan::Slot& slot = one.plan.slots[0];
  EXPECT_EQ(three.plan.bytes - one.plan.bytes, 2 * (slot.inputs.bytes() + slot.numbers.bytes() + slot.scores.bytes()));
}

TEST(StepPlan, GivesTheScoresWhatTheModelMade) {
  Executor executor(1);
  Context context(Device::cpu(), executor);
  const PlannedStep planned(context, 1);
  const ScoredBatch batch = planned.plan.scored(planned.plan.slots[0]);
  EXPECT_EQ(batch.prediction.data(), planned.plan.model->output().data());
  EXPECT_EQ(batch.gradient.data(), planned.plan.model->output_gradient().data());
  EXPECT_FALSE(batch.weight);
}

class CudaStepPlan : public test::CudaTest {};

// An update that is made up for lost batches reads numbers that a later batch brings anew.
TEST_F(CudaStepPlan, AFlushIsOverBeforeItsNumbersAreOverwritten) {
  const auto weights = [&](bool waits) {
    PlannedStep planned(context(), 1);
    const auto adam = planned.optimizer("adam", 0.1);
    const auto step = TrainStep::make({.model = planned.model,
                                       .context = context(),
                                       .loss = *planned.loss,
                                       .optimizer = *adam,
                                       .rows = planned.rows,
                                       .gradients = {.accumulate = 4},
                                       .batches_in_flight = 3});
    std::vector<RowBlock> batches(9);
    for (RowBlock& batch : batches) {
      batch.configure(planned.rows, 4, context().device());
      batch.resize(4);
      for (int64_t row = 0; row < 4; ++row) {
        batch.row<float>(0, row)[0] = 1;
        batch.row<float>(0, row)[1] = static_cast<float>(row);
        batch.row<float>(1, row)[0] = 2;
      }
    }
    for (size_t i = 0; i < batches.size(); ++i) {
      step->run(batches[i]);
      if (i % 2 == 0) step->flush();
      if (waits) context().synchronize();
    }
    context().synchronize();
    const TensorView block = planned.model.parameter_block();
    return download<float>(block.data(), static_cast<size_t>(block.elements()));
  };
  EXPECT_EQ(weights(false), weights(true));
}

// What ran in one slot need not run as it is in the others, but each part is new.
TEST_F(CudaStepPlan, IsRecordedInEachSlotAtOnceWhenItRanInOne) {
  PlannedStep planned(context(), 3);
  StepPlan& plan = planned.plan;
  const Memory memory(context().device(), 64);
  const auto work = [&] { context().fill_zero(memory.data(), memory.bytes()); };
  EXPECT_FALSE(plan.play(context(), plan.slots[0], StepPlan::kWhole, work).recorded());
  EXPECT_TRUE(plan.play(context(), plan.slots[1], StepPlan::kWhole, work).recorded());
  EXPECT_TRUE(plan.play(context(), plan.slots[2], StepPlan::kWhole, work).recorded());
  EXPECT_FALSE(plan.play(context(), plan.slots[2], StepPlan::kWhole + 1, work).recorded());
  EXPECT_TRUE(plan.play(context(), plan.slots[0], StepPlan::kWhole, work).recorded());
  context().synchronize();
}

#if defined(MILLRACE_CUDA_EMULATED)
// Product and bias; rectifier, head and loss; gradients of the head, the rectifier and the bias; that of the weight.
TEST_F(CudaStepPlan, OfANarrowHeadIsFourKernels) {
  PlannedStep planned(context(), 1, 8, GradientTarget::parameters);
  StepPlan& plan = planned.plan;
  StepPlan::Slot& slot = plan.slots[0];
  RowBlock batch;
  batch.configure(planned.rows, 4, context().device());
  batch.resize(4);
  slot.inputs.load(context(), batch);
  const Memory numbers(context().device(), 64);
  const emulation::Counters before = emulation::counters();
  plan.model->forward(context(), slot.inputs.model(), static_cast<const uint64_t*>(numbers.data()));
  planned.scores.run(*plan.scores, plan.scored(slot));
  plan.model->backward(context(), slot.inputs.model(), static_cast<const uint64_t*>(numbers.data()),
                       static_cast<const float*>(numbers.data()), TensorView());
  const emulation::Counters behind = emulation::counters();
  context().synchronize();
  EXPECT_EQ(behind.kernels - before.kernels, 2U);
  EXPECT_EQ(behind.library_calls - before.library_calls, 2U);
}
#endif

}  // namespace
}  // namespace millrace
