// check_gradients: compares the gradients of a layer or of a loss with differences of what it computes, in double, on
// the CPU. For tests of one's own, in any framework.
//
//   SwishLayer swish({});
//   const GradientCheck swish_check = check_gradients(swish, {.inputs = {Shape{7}}});
//   EXPECT_LT(swish_check.error, 1e-7) << swish_check.worst;
//
// Any thread may call it; it has an executor of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "millrace/core/export.h"
#include "millrace/core/tensor.h"
#include "millrace/layers/layer.h"
#include "millrace/layers/loss.h"

namespace millrace {

struct GradientCase {
  std::vector<Shape> inputs = {Shape{7}};  // one row of each input
  int64_t batch = 5;
};

struct GradientCheck {
  double error = 0;        // the largest of any gradient, relative to the larger of 1 and the gradient
  std::string worst = {};  // where it is: "parameter slope, value 3: 0.5, by differences 0.25"
};

// Inputs and parameters are drawn from +-[0.1, 1.5): not from near 0, where many functions have a bend. Inputs that the
// layer reads as whole numbers are 0 and 1. A gradient that was not written, or is not finite, is an infinite error.
// REQUIRES: build() of the layer was not called yet. Throws what the layer throws, and ShapeError where it takes
// another number of inputs, or there are no values or no gradients.
MILLRACE_EXPORT GradientCheck check_gradients(Layer& layer, const GradientCase& with = {});

struct LossCase {
  Shape row = Shape{3};                 // of the prediction
  std::optional<Shape> label_row = {};  // absent: as the prediction's
  int64_t batch = 5;
  bool weighted = true;  // whether rows have weights, the first of them 0
};

// Predictions are drawn as a layer's inputs; labels, too, within the loss's range where it has one, as whole numbers
// where it reads such. A weight of the rows that is not their sum, and a row of weight 0 that counts, are infinite
// errors, too. Throws what the loss throws, and ShapeError for fewer than two rows.
MILLRACE_EXPORT GradientCheck check_gradients(const Loss& loss, const LossCase& with = {});

}  // namespace millrace
