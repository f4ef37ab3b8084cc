// Sums in an order that only shapes and the device decide: partial sums, joined in index order or as a tree.
#pragma once

#include <cstddef>
#include <cstdint>

#include "millrace/core/context.h"
#include "millrace/core/export.h"
#include "millrace/core/tensor.h"

namespace millrace {

// Rows in a block of column_sum().
inline constexpr int64_t kSumRows = 64;
// Values in a block of sum().
inline constexpr int64_t kSumValues = 1024;

// Bytes of scratch that column_sum needs for an input of this shape.
MILLRACE_EXPORT size_t column_sum_scratch(const TensorSpec& input);

// destination (n) receives the sums over the rows of input (rows, n). Throws ShapeError unless f32 or f64.
// REQUIRES: at least one row; scratch has column_sum_scratch(input) bytes on the device.
MILLRACE_EXPORT void column_sum(Context& context, ConstTensorView input, const Destination& destination, void* scratch);

// Bytes of scratch for sum() of `count` values.
MILLRACE_EXPORT size_t sum_scratch(int64_t count);

// *result = sum of all values * scale, accumulated in double; f32 or f64 values, else ShapeError; the result has their
// dtype. `scale` is a host value. The sum of no values is 0.
// REQUIRES: scratch has sum_scratch(values.elements()) bytes on the device.
MILLRACE_EXPORT void sum(Context& context, ConstTensorView values, void* result, double scale, void* scratch);

// *result = the sum of the squares of a vector's values, in double. It is finite if all values are finite and, for
// float64, their squares are, too. f32 or f64, else ShapeError. REQUIRES: scratch as for sum().
MILLRACE_EXPORT void square_sum(Context& context, ConstTensorView values, double* result, void* scratch);

}  // namespace millrace
