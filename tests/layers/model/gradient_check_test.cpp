#include "millrace/layers/model/gradient_check.h"

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

}  // namespace
}  // namespace millrace
