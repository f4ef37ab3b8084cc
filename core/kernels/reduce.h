// Sums in an order that shapes alone decide: blocks of fixed size, joined in index order.
#pragma once

#include "millrace/core/context.h"
#include "millrace/core/kernels/destination.h"
#include "millrace/core/tensor.h"

namespace millrace {

// Rows of a block of the column sum.
inline constexpr int64_t kSumRows = 64;

// Bytes of scratch that column_sum needs for an input of this shape.
size_t column_sum_scratch(const TensorSpec& input);

// destination (n) receives the sums over the rows of input (rows, n). f32 and f64.
// REQUIRES: scratch has column_sum_scratch(input) bytes on the device.
void column_sum(Context& context, ConstTensorView input, const Destination& destination, void* scratch);

// Bytes of scratch for sum() of `count` values.
size_t sum_scratch(int64_t count);

// *result = sum(values[0..count)) * scale, accumulated in double; f32 or f64 values, a float or double result of the same
// dtype. `scale` is a host value.
void sum(Context& context, ConstTensorView values, void* result, double scale, void* scratch);

}  // namespace millrace
