#include "millrace/layers/gradients/gradient_rules.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "tests/layers/layer_run.h"

namespace millrace::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// One update from batches of given gradients and weights of rows.
struct Update {
  struct Batch {
    std::vector<double> gradient;
    double weight = 1;
  };
  GradientOptions options;
  DType dtype = DType::f64;
  int threads = 2;
  bool finite = false;

  bool moves = false;  // before each batch, to fresh rules that go on from a saved state

  // The gradients as an optimizer sees them.
  std::vector<double> of(const std::vector<Batch>& batches, int updates = 1) {
    Executor executor(threads);
    Context context(Device::cpu(), executor);
    const auto count = static_cast<int64_t>(batches[0].gradient.size());
    Tensor block(Device::cpu(), {Shape{count}, dtype});
    write_values(block.view(), nans(count));
    std::optional<GradientRules> rules(std::in_place, options, Device::cpu(), block.spec());
    const float* scale = nullptr;
    for (int update = 0; update < updates; ++update) {
      for (const Batch& batch : batches) {
        EXPECT_FALSE(rules->complete());
        if (moves) {
          State state;
          rules->save(context, state);
          rules.emplace(options, Device::cpu(), block.spec()).restore(context, State::decode(state.encode()));
        }
        Tensor loss(Device::cpu(), {Shape{2}, dtype});
        write_values(loss.view(), {0.5, batch.weight});
        const float* const alpha = rules->begin_batch(context, loss.view().data(), block.view());
        rules->count_batch();
        backward(*rules, batch, alpha, block);
      }
      EXPECT_EQ(rules->gathered(), static_cast<int64_t>(batches.size()));
      scale = rules->finish(context, block.view());
      rules->begin_anew();
      EXPECT_EQ(rules->gathered(), 0);
      if (options.check_finite) finite = rules->finite(context);
    }
    std::vector<double> out = read_values(block.view());
    for (double& value : out) value *= scale != nullptr ? static_cast<double>(*scale) : 1.0;
    return out;
  }

 private:
  // What a model's backward pass does.
  static void backward(const GradientRules& rules, const Batch& batch, const float* alpha, Tensor& block) {
    std::vector<double> values = read_values(block.view());
    const double factor = alpha != nullptr ? static_cast<double>(*alpha) : 1.0;
    const bool add = rules.target() == GradientTarget::block_add;
    for (size_t i = 0; i < values.size(); ++i) values[i] = (add ? values[i] : 0.0) + factor * batch.gradient[i];
    write_values(block.view(), values);
  }
};

TEST(GradientRules, LeaveGradientsAloneUnlessAsked) {
  EXPECT_FALSE(GradientOptions{}.any());
  EXPECT_EQ(Update{}.of({{{3, -4}, 5}}), (std::vector<double>{3, -4}));
  EXPECT_EQ(GradientRules({}, Device::cpu(), {Shape{8}, DType::f32}).bytes(), 0u);
}

TEST(GradientRules, JoinBatchesByTheWeightOfTheirRows) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    Update update{.options = {.accumulate = 2}, .dtype = dtype};
    EXPECT_EQ(update.of({{{1, -2}, 3}, {{5, 2}, 1}}), (std::vector<double>{2, -1}));
    EXPECT_EQ(update.of({{{1, -2}, 3}, {{5, 2}, 1}}, 3), (std::vector<double>{2, -1})) << "each update begins anew";
    EXPECT_EQ(update.of({{{1, -2}, 0}, {{5, 2}, 1}}), (std::vector<double>{5, 2}));
    EXPECT_EQ(update.of({{{1, -2}, 0}, {{5, 2}, 0}}), (std::vector<double>{0, 0})) << "no row counts";
  }
}

TEST(GradientRules, AFewerBatchesMakeAnUpdateToo) {
  Update update{.options = {.accumulate = 4}};
  EXPECT_EQ(update.of({{{1, -2}, 2}, {{3, 2}, 2}}), (std::vector<double>{2, 0}));
}

TEST(GradientRules, GoOnFromASavedState) {
  const std::vector<Update::Batch> batches = {{{1, -2}, 3}, {{5, 2}, 0.1}, {{0.3, 1e-9}, 7}};
  for (const DType dtype : {DType::f32, DType::f64}) {
    Update stays{.options = {.accumulate = 3, .clip_value = 1.5, .clip_norm = 1.0}, .dtype = dtype};
    Update moves = stays;
    moves.moves = true;
    EXPECT_EQ(moves.of(batches, 2), stays.of(batches, 2));
  }
  Update alone{.options = {.clip_norm = 1.0}, .moves = true};
  EXPECT_EQ(alone.of({{{0, -1, 0}, 7}}, 2), (std::vector<double>{0, -1, 0}));
}

TEST(GradientRules, RefuseAStateWithTooManyBatches) {
  Executor executor(1);
  Context context(Device::cpu(), executor);
  GradientRules rules({.accumulate = 3}, Device::cpu(), {Shape{8}, DType::f32});
  State state;
  state.set("gathered", 3);
  state.set_real("weight", 1);
  EXPECT_THROW(rules.restore(context, state), DataError);
  EXPECT_EQ(rules.gathered(), 0);
  state.set("gathered", 2);
  rules.restore(context, state);
  EXPECT_TRUE(rules.next_completes());
}

TEST(GradientRules, LimitEachValue) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    Update update{.options = {.clip_value = 0.5}, .dtype = dtype};
    EXPECT_EQ(update.of({{{1, -2, 0.25, -0.5, kInfinity, -kInfinity}, 7}}),
              (std::vector<double>{0.5, -0.5, 0.25, -0.5, 0.5, -0.5}));
    EXPECT_TRUE(std::isnan(update.of({{{kNan, 1}, 7}})[0]));
  }
  // Of the joined gradient (2, -1), not of each batch's.
  Update joined{.options = {.accumulate = 2, .clip_value = 1.5}};
  EXPECT_EQ(joined.of({{{1, -2}, 3}, {{5, 2}, 1}}), (std::vector<double>{1.5, -1}));
}

TEST(GradientRules, LimitTheNorm) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    Update update{.options = {.clip_norm = 1.0}, .dtype = dtype};
    // The factor is a float.
    const auto factor = static_cast<double>(1 / 5.0F);
    EXPECT_EQ(update.of({{{3, -4, 0}, 7}}), (std::vector<double>{3 * factor, -4 * factor, 0}));
    EXPECT_EQ(update.of({{{0.25, -0.5, 0}, 7}}), (std::vector<double>{0.25, -0.5, 0})) << "below the limit";
    EXPECT_EQ(update.of({{{0, -1, 0}, 7}}), (std::vector<double>{0, -1, 0})) << "at the limit";
    EXPECT_EQ(update.of({{{0, 0, 0}, 7}}), (std::vector<double>{0, 0, 0}));
  }
}

TEST(GradientRules, LimitTinyNormsToo) {
  Update update{.options = {.clip_norm = 1e-20}};
  const std::vector<double> out = update.of({{{3e-10, -4e-10}, 7}});
  EXPECT_NEAR(out[0] / 0.6e-20, 1, 1e-6);
  EXPECT_NEAR(out[1] / -0.8e-20, 1, 1e-6);
}

// The factor is smaller than any float, or than any with all digits.
TEST(GradientRules, LimitHugeNormsToo) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    Update tiny{.options = {.clip_norm = 1e-20}, .dtype = dtype};
    const std::vector<double> pair = tiny.of({{{3e30, -4e30, 0}, 7}});
    EXPECT_NEAR(pair[0] / 0.6e-20, 1, 1e-6);
    EXPECT_NEAR(pair[1] / -0.8e-20, 1, 1e-6);
    EXPECT_EQ(pair[2], 0);
    for (const int64_t accumulate : {1, 2}) {
      Update many{.options = {.accumulate = accumulate, .clip_norm = 1.0}, .dtype = dtype};
      for (const double value : many.of({{std::vector<double>(3000, 3e38), 1}})) {
        ASSERT_NEAR(value * std::sqrt(3000), 1, 1e-6);
      }
    }
  }
}

TEST(GradientRules, LimitTheNormOfWhatIsLeftOfTheValuesOfAllBatches) {
  Update update{.options = {.accumulate = 2, .clip_value = 1.5, .clip_norm = 1.0}};
  // Joined (2, -1), limited to (1.5, -1).
  const std::vector<double> out = update.of({{{1, -2}, 3}, {{5, 2}, 1}});
  EXPECT_NEAR(out[0], 1.5 / std::sqrt(3.25), 1e-6);
  EXPECT_NEAR(out[1], -1 / std::sqrt(3.25), 1e-6);
}

TEST(GradientRules, FindValuesThatAreNotFinite) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    Update update{.options = {.clip_value = 1.0, .check_finite = true}, .dtype = dtype};
    update.of({{{1e30, -1e30}, 1}});
    EXPECT_TRUE(update.finite);
    for (const double bad : {kNan, kInfinity, -kInfinity}) {
      update.of({{{1, bad}, 1}});
      EXPECT_FALSE(update.finite);
    }
  }
}

// Of what an optimizer sees: 1.8e19 squared is the greatest float, about.
TEST(GradientRules, FindValuesWhoseSquaresAreNotFinite) {
  const auto finds = [](GradientOptions options, const std::vector<Update::Batch>& batches) {
    options.check_finite = true;
    Update update{.options = options, .dtype = DType::f32};
    update.of(batches);
    return !update.finite;
  };
  EXPECT_FALSE(finds({}, {{{0, 1e21}, 1}}));
  EXPECT_TRUE(finds({.check_squares = true}, {{{0, 1e21}, 1}}));
  EXPECT_TRUE(finds({.check_squares = true}, {{{0, -1.9e19}, 1}}));
  EXPECT_TRUE(finds({.check_squares = true}, {{{0, kNan}, 1}}));
  EXPECT_FALSE(finds({.check_squares = true}, {{{0, 1.8e19}, 1}}));
  EXPECT_FALSE(finds({.clip_value = 1.0, .check_squares = true}, {{{0, 1e21}, 1}}));
  EXPECT_FALSE(finds({.clip_norm = 1.0, .check_squares = true}, {{{0, 1e21}, 1}}));
  EXPECT_TRUE(finds({.clip_norm = 1e20, .check_squares = true}, {{{0, 1e21}, 1}}));
  EXPECT_FALSE(finds({.accumulate = 2, .check_squares = true}, {{{0, 1e15}, 1e10}, {{0, 1e15}, 1e10}}));
  EXPECT_TRUE(finds({.accumulate = 2, .check_squares = true}, {{{0, 1e21}, 1e-10}, {{0, 1e21}, 1e-10}}));
  EXPECT_FALSE(finds({.accumulate = 2, .check_squares = true}, {{{0, 1}, 0}, {{0, 1}, 0}})) << "no row counts";
}

TEST(GradientRules, GiveTheSameBitsOnAnyNumberOfThreads) {
  const std::vector<double> gradient = draws("gradient", 50'000);
  std::vector<double> first;
  for (const int threads : {1, 2, 3, 8}) {
    Update update{.options = {.accumulate = 2, .clip_value = 0.75, .clip_norm = 2.0}, .dtype = DType::f32};
    update.threads = threads;
    const std::vector<double> out = update.of({{gradient, 23}, {gradient, 21}});
    if (first.empty()) first = out;
    EXPECT_EQ(out, first) << threads;
  }
}

}  // namespace
}  // namespace millrace::testing
