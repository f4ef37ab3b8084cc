// Checks for tests of your own layers, losses and input ops, in any test framework; see docs/extending.md. Any thread
// may call them; each call has its own executor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "millrace/core/export.h"
#include "millrace/core/spec.h"
#include "millrace/core/tensor.h"
#include "millrace/input/op.h"
#include "millrace/layers/layer.h"
#include "millrace/layers/loss.h"

namespace millrace {

// check_gradients: compares the gradients of a layer or of a loss with differences of its results, in double, on the
// CPU.
//
//   SwishLayer swish({});
//   const GradientCheck swish_check = check_gradients(swish, {.inputs = {Shape{7}}});
//   EXPECT_LT(swish_check.error, 1e-7) << swish_check.worst;
struct GradientCase {
  std::vector<Shape> inputs = {Shape{7}};  // one row of each input
  int64_t batch = 5;
};

struct GradientCheck {
  double error = 0;        // the largest of all values, relative to the larger of 1 and the gradient by differences
  std::string worst = {};  // the value that has it: "parameter slope, value 3: 0.5, by differences 0.25"
};

// Inputs and parameters are drawn from +-[0.1, 1.5): not from near 0, where many functions have a bend. Inputs that the
// layer reads as whole numbers are 0 and 1, clamped to the layer's range. A gradient that was not written, or is not
// finite, is an infinite error. REQUIRES: build() of the layer was not called yet. Throws what the layer throws, and
// ShapeError if the layer takes another number of inputs, or there are no values or no gradients.
MILLRACE_EXPORT GradientCheck check_gradients(Layer& layer, const GradientCase& with = {});

struct LossCase {
  Shape row = Shape{3};                 // of the prediction
  std::optional<Shape> label_row = {};  // absent: as the prediction's
  int64_t batch = 5;
  bool weighted = true;  // whether rows have weights, the first of them 0
};

// Predictions are drawn as a layer's inputs are. Labels are drawn evenly from the loss's range (of a wide range, from a
// part of width 4) or, without one, from -1 (uint8: 0) to 1; they are whole numbers if the loss reads whole numbers. It
// is an infinite error, too, if the loss's weight is not the sum of the rows' weights, or if a row of weight 0 counts.
// Throws what the loss throws, and ShapeError for fewer than two rows.
MILLRACE_EXPORT GradientCheck check_gradients(const Loss& loss, const LossCase& with = {});

// check_restore: whether an input that is saved, and restored elsewhere, goes on as if nothing had happened.
//
//   const Spec every_input = parse_yaml("[synthetic: {features: 4}, every: {rows: 3}, batch: {batch_size: 4}]", "t");
//   EXPECT_EQ(check_restore(every_input, catalog.ops).difference, "");
struct RestoreCheck {
  int64_t batches = 0;          // how many were read
  std::string difference = {};  // the first difference: "saved after batch 2: batch 4 has other rows"; empty: none
};

// Reads the first `most` batches of the list on one thread, and saves the state before each of them. From each state
// another graph of the list goes on, on two threads, and must give the rest of the batches: the same rows, values and
// places, and the same counts of rows that were given, bad or left out. Throws what the ops throw, and DataError if
// there is no batch.
MILLRACE_EXPORT RestoreCheck check_restore(const Spec& input, const OpRegistry& ops, int64_t most = 10);

}  // namespace millrace
