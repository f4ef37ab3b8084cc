// FieldInput: one field of a batch on its way into the step: converted where the step reads another dtype, and copied
// to the device where that is not the host. On the CPU and without conversion the batch's own memory is used.
#pragma once

#include <cstdint>
#include <string>

#include "millrace/core/context.h"
#include "millrace/core/tensor.h"
#include "millrace/input/graph/row_block.h"

namespace millrace {

class FieldInput {
 public:
  // For batches of `rows` rows of `field`, read as `dtype` on `device`.
  FieldInput(Device device, const FieldSpec& field, DType dtype, int64_t rows);

  // Shape and stride of what load() gives; no data.
  TensorView shape() const { return shape_; }
  // The field of a batch, ready for the step's stream. `batch` must stay until the step has read it.
  // Throws DataError when a number is no whole one and the step reads integers; its row is then error_row().
  ConstTensorView load(Context& context, ConstTensorView batch);
  int64_t error_row() const { return error_row_; }
  size_t bytes() const { return converted_.bytes() + device_.bytes(); }

 private:
  void convert(ConstTensorView from);

  std::string name_;
  TensorView shape_;
  Memory converted_;  // host, with the device's strides; empty when the dtype is the batch's
  Memory device_;     // empty on the CPU
  int64_t error_row_ = -1;
};

}  // namespace millrace
