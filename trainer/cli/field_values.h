// Visits the values of one field of one row with their own type.
#pragma once

#include <cstddef>
#include <cstdint>

#include "millrace/input/graph/row_block.h"

namespace millrace::cli {

// Calls `use` with a pointer to the field's first value in that row: const float*, const int64_t*, ...
template <class Use>
void with_values(const RowBlock& batch, size_t field, int64_t row, const Use& use) {
  switch (batch.spec().fields[field].dtype) {
    case DType::f32: use(batch.row<float>(field, row)); return;
    case DType::f64: use(batch.row<double>(field, row)); return;
    case DType::i32: use(batch.row<int32_t>(field, row)); return;
    case DType::i64: use(batch.row<int64_t>(field, row)); return;
    case DType::u8: use(batch.row<uint8_t>(field, row)); return;
  }
}

}  // namespace millrace::cli
