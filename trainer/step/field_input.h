// FieldInput: brings one field of a batch into the step: checks the values if only some make sense, converts them if
// the step reads another dtype, and copies them to the device if that is not the host. On the CPU and without
// conversion the batch's own memory is used, unless the values must outlive it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "millrace/core/context.h"
#include "millrace/core/tensor.h"
#include "millrace/input/rows/row_block.h"
#include "millrace/layers/loss.h"

namespace millrace {

struct FieldInputArgs {
  Device device;
  const FieldSpec& field;
  DType dtype = DType::f32;  // that the step reads
  int64_t rows = 0;          // of a batch
  std::optional<ValueRange> range = {};
  bool keeps = false;  // what load() gives stays until the next load(), even if the batch changes
};

class FieldInput {
 public:
  explicit FieldInput(const FieldInputArgs& args);

  // Shape and stride of what load() gives; no data.
  TensorView shape() const { return shape_; }
  // The field of a batch, ready for the step's stream. `batch` must stay until the step has read it; `pinned` says that
  // it lies in pinned memory. Throws DataError for a value outside the range, and for a number that is not a whole one,
  // or is too large, when the step reads integers; its row is then error_row().
  ConstTensorView load(Context& context, ConstTensorView batch, bool pinned = false);
  const std::string& name() const { return name_; }
  int64_t error_row() const { return error_row_; }
  size_t bytes() const { return converted_.bytes() + device_.bytes(); }

 private:
  // Checks the values, and converts them if that is needed.
  void take(ConstTensorView from);

  std::string name_;
  TensorView shape_;
  std::optional<ValueRange> range_;
  Memory converted_;  // host, with the device's strides; empty when the batch's own memory will do
  Memory device_;     // empty on the CPU
  int64_t error_row_ = -1;
};

}  // namespace millrace
