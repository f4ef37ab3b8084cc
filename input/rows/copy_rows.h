// Copies neighbouring rows at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "millrace/input/rows/row_block.h"

namespace millrace {

// Copies rows [from, from + count) of `source` to rows [at, at + count) of `to`. REQUIRES: the specs are equal.
inline void copy_rows(const RowBlock& source, int64_t from, int64_t count, RowBlock& to, int64_t at) {
  if (count <= 0) return;
  for (size_t field = 0; field < source.spec().fields.size(); ++field) {
    // None, if the sizes of the field's values vary.
    const auto bytes = static_cast<size_t>(source.at(field, from + count) - source.at(field, from));
    if (bytes > 0) {
      std::memcpy(to.at(field, at), source.at(field, from), bytes);
    } else {
      for (int64_t row = 0; row < count; ++row) to.copy_field(field, source, from + row, at + row);
    }
  }
  std::memcpy(&to.id(at), &source.id(from), static_cast<size_t>(count) * sizeof(RowId));
}

}  // namespace millrace
