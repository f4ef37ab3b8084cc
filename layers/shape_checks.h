// The checks of shapes and dtypes that layers, losses and metrics share. The model adds the layer's name and place.
#pragma once

#include <span>

#include "millrace/core/errors.h"
#include "millrace/core/tensor.h"
#include "millrace/core/text.h"

namespace millrace {

// Throws ShapeError unless the values are float32 or float64.
inline void require_float(const TensorSpec& spec) {
  if (spec.dtype == DType::f32 || spec.dtype == DType::f64) return;
  throw ShapeError(cat("expected float32 values, got ", spec.text()));
}

// Throws ShapeError unless `values` have the dtype that `reader` reads.
inline void require_dtype(std::string_view reader, const TensorSpec& values, DType dtype) {
  if (values.dtype == dtype) return;
  throw ShapeError(cat(reader, " reads ", to_string(dtype), " labels, got ", values.text()));
}

// Throws ShapeError unless `reader` gets a label for each value of the prediction.
inline void require_same_shape(std::string_view reader, const TensorSpec& prediction, const TensorSpec& label) {
  if (prediction.shape == label.shape) return;
  throw ShapeError(
      cat(reader, ": the prediction is ", prediction.shape.text(), " a row, the label ", label.shape.text()), {},
      prediction.shape.elements() == label.shape.elements()
          ? "put a reshape behind the last layer, or one into the label's field in decode_csv"
          : "the last layer needs one unit for each value of the label");
}

// Throws ShapeError unless a row of the layer's input is a vector.
inline void require_vector(const TensorSpec& input) {
  if (input.shape.rank() == 1 && input.shape[0] > 0) return;
  throw ShapeError(cat("expected a vector a row, got ", input.text()), {},
                   input.shape.rank() == 3  ? "put a flatten or a global_avg_pool before it"
                   : input.shape.rank() > 1 ? "put a flatten before it"
                                            : "");
}

// The same for a prediction that `reader` reads.
inline void require_vector(std::string_view reader, const TensorSpec& prediction) {
  if (prediction.shape.rank() == 1 && prediction.shape[0] > 0) return;
  throw ShapeError(cat(reader, " expects a vector a row, got ", prediction.text()), {},
                   "end the model with a flatten, and a dense layer of a unit for each class");
}

// Throws ShapeError unless a row has values along a last axis.
inline void require_last_axis(const TensorSpec& spec) {
  const int rank = spec.shape.rank();
  if (rank > 0 && spec.shape[rank - 1] > 0) return;
  throw ShapeError(cat("expected values along the last axis of a row, got ", spec.text()));
}

// Throws ShapeError unless all inputs have one shape and dtype.
inline void require_one_shape(std::span<const TensorSpec> inputs) {
  for (const TensorSpec& input : inputs) {
    if (input == inputs[0]) continue;
    throw ShapeError(cat("expected inputs of one shape, got ", inputs[0].text(), " and ", input.text()));
  }
}

}  // namespace millrace
