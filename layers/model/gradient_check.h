// check_gradients: compares what a layer's backward() gives with differences of its outputs, in double, on the CPU. For
// tests of layers, in any framework.
//
//   SwishLayer swish({});
//   const GradientCheck swish_check = check_gradients(swish, {.inputs = {Shape{7}}});
//   EXPECT_LT(swish_check.error, 1e-7) << swish_check.worst;
//
// Any thread may call it; it has an executor of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "millrace/core/export.h"
#include "millrace/core/tensor.h"
#include "millrace/layers/layer.h"

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
// REQUIRES: build() of the layer was not called yet. Throws what the layer throws.
MILLRACE_EXPORT GradientCheck check_gradients(Layer& layer, const GradientCase& with = {});

}  // namespace millrace
