// The layers of examples/custom_layer, and that its check of gradients finds what is wrong.
#include <gtest/gtest.h>

#include "examples/custom_layer/gradient_check.h"
#include "examples/custom_layer/layers.h"

namespace millrace {
namespace {

TEST(GradientCheckExample, AcceptsWhatIsRight) {
  SoftsignLayer softsign({});
  PreluLayer prelu({});
  EXPECT_LT(gradient_error(softsign, {.row = {2, 3}}), 1e-7);
  EXPECT_LT(gradient_error(prelu, {.row = {7}, .batch = 11}), 1e-7);
  const auto dense = LayerCatalog::builtin().layers.find("dense", {}).make(Spec::map().set("units", 4), nullptr);
  EXPECT_LT(gradient_error(*dense, {.row = {5}}), 1e-7);
}

// y = x^2, whose gradient is said to be x.
class Wrong final : public SimpleLayer {
 public:
  void forward(Context& context, const SimpleForward& args) const override {
    zip_elements(context, args.x, args.x, args.y, Product{});
  }
  void backward(Context& context, const SimpleBackward& args) const override {
    zip_elements(context, args.x, args.dy, args.dx, Product{});
  }
};

TEST(GradientCheckExample, FindsWhatIsWrong) {
  Wrong wrong;
  EXPECT_GT(gradient_error(wrong, {.row = {3}}), 0.1);
}

}  // namespace
}  // namespace millrace
