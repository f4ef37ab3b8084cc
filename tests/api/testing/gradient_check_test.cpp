#include "millrace/testing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "millrace/layers/catalog.h"
#include "millrace/layers/simple_layer.h"

namespace millrace {
namespace {

using ::testing::StartsWith;

std::unique_ptr<Layer> make(const std::string& kind, const Spec& options = Spec::map()) {
  return LayerCatalog::builtin().layers.make({kind, options}, options);
}

TEST(GradientCheck, FindsThatLayersAreRight) {
  const auto error_of = [](const std::string& kind, const Spec& options, const GradientCase& with) {
    return check_gradients(*make(kind, options), with).error;
  };
  EXPECT_LT(error_of("tanh", Spec::map(), {}), 1e-8);
  EXPECT_LT(error_of("dense", Spec::map({{"units", 3}}), {.inputs = {Shape{5}}, .batch = 4}), 1e-8);
  EXPECT_LT(error_of("dropout", Spec::map({{"rate", 0.5}}), {}), 1e-8);
  EXPECT_LT(error_of("add", Spec::map(), {.inputs = {Shape{2, 3}, Shape{2, 3}}}), 1e-8);
  EXPECT_LT(error_of("batch_norm", Spec::map(), {}), 1e-6);
  EXPECT_LT(error_of("conv2d", Spec::map({{"filters", 2}, {"kernel", 2}}), {.inputs = {Shape{3, 4, 5}}, .batch = 2}),
            1e-8);
}

// A layer whose gradient is that of another function, at x above 1.
struct Cube {
  template <class T>
  MILLRACE_HD T operator()(T x) const {
    return x * x * x;
  }
};
struct WrongGradient {
  double above_one;
  template <class T>
  MILLRACE_HD T operator()(T x, T dy) const {
    return T(3) * x * x * dy + (x > T(1) ? static_cast<T>(above_one) : T(0));
  }
};
class WrongLayer final : public SimpleLayer {
 public:
  explicit WrongLayer(double above_one) : above_one_(above_one) {}
  void forward(Context& context, const SimpleForward& args) const override {
    map_elements(context, args.x, args.y, Cube{});
  }
  void backward(Context& context, const SimpleBackward& args) const override {
    if (above_one_ != -1) zip_elements(context, args.x, args.dy, args.dx, WrongGradient{above_one_});
  }

 private:
  double above_one_;
};

TEST(GradientCheck, SaysWhereAGradientIsWrong) {
  WrongLayer right(0), wrong(0.5), nan(std::nan("")), silent(-1);
  EXPECT_LT(check_gradients(right).error, 1e-8);
  const GradientCheck found = check_gradients(wrong);
  EXPECT_GT(found.error, 0.01);
  EXPECT_THAT(found.worst, StartsWith("input 0, value "));
  EXPECT_EQ(check_gradients(nan).error, std::numeric_limits<double>::infinity());
  EXPECT_EQ(check_gradients(silent).error, std::numeric_limits<double>::infinity());
}

TEST(GradientCheck, RefusesWhatCannotBeChecked) {
  const auto error_of = [](const std::string& kind, const GradientCase& with) -> std::string {
    try {
      check_gradients(*make(kind), with);
    } catch (const ShapeError& error) {
      return error.message();
    }
    return "no error";
  };
  EXPECT_EQ(error_of("add", {}), "check_gradients: expected at least 2 inputs, got 1");
  EXPECT_EQ(error_of("tanh", {.inputs = {}}), "check_gradients: expected 1 input, got 0");
  EXPECT_EQ(error_of("tanh", {.inputs = {Shape{2}, Shape{2}}}), "check_gradients: expected 1 input, got 2");
  EXPECT_EQ(error_of("tanh", {.batch = 0}), "check_gradients: expected values, and at least 1 row, got 0 rows of (7)");
  EXPECT_EQ(error_of("tanh", {.inputs = {Shape{0}}}),
            "check_gradients: expected values, and at least 1 row, got 5 rows of (0)");
  const auto mse = LayerCatalog::builtin().losses.make({"mse", Spec::map()}, {});
  EXPECT_THROW(check_gradients(*mse, {.batch = 1}), ShapeError);
}

TEST(GradientCheck, FindsThatLossesAreRight) {
  const LossRegistry losses = LayerCatalog::builtin().losses;
  for (const auto& kind : losses.kinds()) {
    const auto loss = losses.make({kind, Spec::map()}, {});
    LossCase with;
    if (kind == "softmax_cross_entropy") with.label_row = Shape{1};
    for (const bool weighted : {false, true}) {
      with.weighted = weighted;
      const GradientCheck found = check_gradients(*loss, with);
      EXPECT_LT(found.error, 1e-8) << kind << ": " << found.worst;
    }
  }
}

// (x - y)^2 with something wrong.
class WrongLoss final : public Loss {
 public:
  enum class Wrong { nothing, slope, no_gradient, weight_sum, every_row_counts };
  explicit WrongLoss(Wrong wrong) : wrong_(wrong) {}

  void check(const TensorSpec&, const TensorSpec&) const override {}
  LabelSpec label(const TensorSpec&) const override { return {}; }
  std::unique_ptr<LossPlan> plan(Context&, const LossPlanArgs&) const override {
    return std::make_unique<Plan>(wrong_);
  }

 private:
  struct Plan final : LossPlan {
    explicit Plan(Wrong given) : wrong(given) {}
    void run(Context&, const LossArgs& args) override {
      const auto weight_of = [&](int64_t r) {
        if (args.weight.data() == nullptr) return 1.0;
        const double weight = args.weight.as<float>()[r * args.weight.stride()];
        return wrong == Wrong::every_row_counts && r == 0 ? 1e-300 : weight;
      };
      const ConstTensorView &x = args.prediction, &y = args.label;
      const auto count = static_cast<double>(x.columns());
      double sum = 0, weights = 0;
      for (int64_t r = 0; r < x.rows(); ++r) weights += weight_of(r);
      for (int64_t r = 0; r < x.rows(); ++r) {
        for (int64_t c = 0; c < x.columns(); ++c) {
          const double error = x.as<double>()[r * x.stride() + c] - y.as<float>()[r * y.stride() + c];
          const double weight = weight_of(r) / weights / count;
          if (weight != 0) sum += weight * error * error;
          if (args.gradient.data() == nullptr || wrong == Wrong::no_gradient) continue;
          args.gradient.as<double>()[r * args.gradient.stride() + c] =
              weight == 0 ? 0 : weight * error * (wrong == Wrong::slope ? 1 : 2);
        }
      }
      static_cast<double*>(args.loss)[0] = sum;
      static_cast<double*>(args.loss)[1] = wrong == Wrong::weight_sum ? 1 : weights;
    }
    Wrong wrong;
  };
  Wrong wrong_;
};

TEST(GradientCheck, SaysWhatIsWrongWithALoss) {
  using Wrong = WrongLoss::Wrong;
  const auto found = [](Wrong wrong) { return check_gradients(WrongLoss(wrong)); };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_LT(found(Wrong::nothing).error, 1e-8) << found(Wrong::nothing).worst;
  EXPECT_GT(found(Wrong::slope).error, 0.01);
  EXPECT_THAT(found(Wrong::slope).worst, StartsWith("prediction, value "));
  EXPECT_EQ(found(Wrong::no_gradient).error, kInfinity);
  EXPECT_EQ(found(Wrong::weight_sum).error, kInfinity);
  EXPECT_EQ(found(Wrong::weight_sum).worst, "the weight of the rows is 1, expected 5");
  EXPECT_EQ(found(Wrong::every_row_counts).error, kInfinity);
  EXPECT_EQ(found(Wrong::every_row_counts).worst, "a row of weight 0 counts");
}

}  // namespace
}  // namespace millrace
