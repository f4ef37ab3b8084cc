#include "millrace/trainer/step/state_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "millrace/trainer/step/step.h"
#include "tests/layers/model/build_model.h"
#include "tests/support/cuda.h"

namespace millrace {
namespace {

using testing::LayerLine;

// Two features; `normalised` ones go through a batch_norm.
Model make_model(Context& context, bool normalised = true) {
  std::vector<LayerLine> layers = {{"dense", testing::dense_units(1)}};
  if (normalised) layers.insert(layers.begin(), {"batch_norm", Spec::map()});
  return testing::build_model(context, layers, testing::features(Shape{2}));
}

// The running means, then the running variances.
std::vector<float> states_of(Context& context, const Model& model) {
  std::vector<float> out;
  for (size_t i = 0; i < model.states().size(); ++i) {
    std::vector<float> values(2);
    context.copy(values.data(), model.state(i).data(), 2 * sizeof(float));
    context.synchronize();
    out.insert(out.end(), values.begin(), values.end());
  }
  return out;
}

bool finite(Context& context, const StateCheck& check) {
  check.look(context);
  check.fetch(context);
  context.synchronize();
  return check.finite();
}

void expect_every_value_looked_at(Context& context) {
  Model model = make_model(context);
  const StateCheck check(model, context.device());
  EXPECT_TRUE(finite(context, check));
  EXPECT_EQ(check.first(context), "");
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float bad : {kInfinity, -kInfinity, std::nanf("")}) {
    for (size_t state = 0; state < 2; ++state) {
      for (size_t i = 0; i < 2; ++i) {
        // The largest number is one.
        std::vector<float> values(2, std::numeric_limits<float>::max());
        context.copy(model.state(state).data(), values.data(), 2 * sizeof(float));
        EXPECT_TRUE(finite(context, check));
        values[i] = bad;
        context.copy(model.state(state).data(), values.data(), 2 * sizeof(float));
        EXPECT_FALSE(finite(context, check)) << bad << state << i;
        EXPECT_EQ(check.first(context), state == 0 ? "batch_norm.mean" : "batch_norm.variance");
        values[i] = 0;
        context.copy(model.state(state).data(), values.data(), 2 * sizeof(float));
        context.synchronize();  // before the values, and at last the model, go
      }
    }
  }
}

void expect_every_slot_looked_at(Context& context, bool normalised) {
  const Model model = make_model(context, normalised);
  constexpr int64_t kValues = 5000;
  std::vector<Tensor> tensors;
  std::vector<TensorView> slots;
  for (int i = 0; i < 2; ++i)
    slots.push_back(tensors.emplace_back(context.device(), TensorSpec{Shape{kValues}}).view());
  const StateCheck check(model, context.device(), slots);
  std::vector<float> values(kValues, std::numeric_limits<float>::max());
  const auto fill = [&](size_t slot) {
    context.copy(slots[slot].data(), values.data(), kValues * sizeof(float));
    context.synchronize();
  };
  for (size_t slot = 0; slot < 2; ++slot) fill(slot);
  EXPECT_TRUE(check.slots_finite(context));
  for (size_t slot = 0; slot < 2; ++slot) {
    for (const size_t i : {size_t{0}, size_t{kValues - 1}}) {
      for (const float bad : {std::numeric_limits<float>::infinity(), std::nanf("")}) {
        const float before = std::exchange(values[i], bad);
        fill(slot);
        EXPECT_FALSE(check.slots_finite(context)) << slot << ' ' << i;
        EXPECT_TRUE(finite(context, check)) << "the layers' states";
        values[i] = before;
        fill(slot);
        EXPECT_TRUE(check.slots_finite(context));
      }
    }
  }
}

// Steps of a model with a batch_norm, by mse.
class Steps {
 public:
  Steps(Context& context, const GradientOptions& gradients) : context_(context), model(make_model(context)) {
    const Spec options = Spec::map().set("learning_rate", 0.1);
    sgd_ = catalog_.optimizers.make({"sgd", options}, options);
    loss_ = catalog_.losses.make({"mse", Spec::map()}, Spec::map());
    step = TrainStep::make({.model = model,
                            .context = context,
                            .loss = *loss_,
                            .optimizer = *sgd_,
                            .rows = rows_,
                            .gradients = gradients});
  }

  StepOutcome run(float feature) {
    batch_.configure(rows_, 3, context_.device());
    batch_.resize(3);
    for (int64_t row = 0; row < 3; ++row) {
      batch_.row<float>(0, row)[0] = static_cast<float>(row);
      batch_.row<float>(0, row)[1] = row == 1 ? feature : 0.5F;
      batch_.row<float>(1, row)[0] = 1;
    }
    return step->run(batch_);
  }
  std::vector<float> states() { return states_of(context_, step->model()); }

 private:
  Context& context_;
  LayerCatalog catalog_ = LayerCatalog::builtin();
  RowSpec rows_{{{"features", DType::f32, {2}}, {"label", DType::f32, {1}}}};
  std::unique_ptr<Optimizer> sgd_;
  std::unique_ptr<Loss> loss_;
  RowBlock batch_;

 public:
  Model model;
  std::unique_ptr<TrainStep> step;
};

// The square of 3e30 is beyond float32, though neither loss nor gradient shows that.
void expect_steps_to_be_skipped(Context& context) {
  for (const int64_t accumulate : {1, 2}) {
    Steps steps(context, {.accumulate = accumulate, .check_finite = true});
    EXPECT_EQ(steps.run(1), StepOutcome::trained);
    const std::vector<float> before = steps.states();
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(steps.run(3e30F), StepOutcome::state_not_finite);
      EXPECT_EQ(steps.step->state_not_finite(), "batch_norm.variance");
      EXPECT_TRUE(std::isfinite(steps.step->batch_loss()));
      EXPECT_EQ(steps.states(), before);
    }
    EXPECT_EQ(steps.step->skipped(), 3U);
    EXPECT_EQ(steps.run(1), StepOutcome::trained);
    EXPECT_NE(steps.states(), before);
    EXPECT_EQ(steps.run(3e38F), StepOutcome::state_not_finite) << "the sum of squares is beyond float32, too";
  }
}

void expect_look_to_find(Context& context) {
  Steps steps(context, {});
  EXPECT_EQ(steps.run(1), StepOutcome::trained);
  EXPECT_EQ(steps.step->look(), StepOutcome::trained);
  EXPECT_EQ(steps.run(3e30F), StepOutcome::trained);
  EXPECT_EQ(steps.run(1), StepOutcome::trained);
  EXPECT_EQ(steps.step->look(), StepOutcome::state_not_finite) << "for good";
  EXPECT_EQ(steps.step->state_not_finite(), "batch_norm.variance");
  EXPECT_TRUE(std::isfinite(steps.step->batch_loss()));
  EXPECT_EQ(steps.run(std::nanf("")), StepOutcome::trained);
  EXPECT_EQ(steps.step->look(), StepOutcome::loss_not_finite) << "which comes first";
}

class StateCheckTest : public ::testing::Test {
 protected:
  Executor executor_{2};
  Context context_{Device::cpu(), executor_};
};

TEST_F(StateCheckTest, LooksAtEveryValue) { expect_every_value_looked_at(context_); }

TEST_F(StateCheckTest, LooksAtEverySlot) {
  for (const bool normalised : {false, true}) expect_every_slot_looked_at(context_, normalised);
}

TEST_F(StateCheckTest, HoldsNothingWithoutStates) {
  const Model model = make_model(context_, false);
  const StateCheck check(model, Device::cpu());
  EXPECT_TRUE(finite(context_, check));
  EXPECT_EQ(check.first(context_), "");
  EXPECT_TRUE(check.slots_finite(context_));
  EXPECT_EQ(check.bytes(), 0U);
}

TEST_F(StateCheckTest, SkipsSteps) { expect_steps_to_be_skipped(context_); }
TEST_F(StateCheckTest, IsMadeWhenItIsAskedFor) { expect_look_to_find(context_); }

class CudaStateCheck : public test::CudaTest {};

TEST_F(CudaStateCheck, LooksAtEveryValue) { expect_every_value_looked_at(context()); }
TEST_F(CudaStateCheck, LooksAtEverySlot) { expect_every_slot_looked_at(context(), true); }
TEST_F(CudaStateCheck, SkipsSteps) { expect_steps_to_be_skipped(context()); }
TEST_F(CudaStateCheck, IsMadeWhenItIsAskedFor) { expect_look_to_find(context()); }

}  // namespace
}  // namespace millrace
