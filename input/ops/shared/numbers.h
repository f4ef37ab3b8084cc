// Code shared by transforms of numbers: finding a field, and calling code for its type.
#pragma once

#include <cstddef>
#include <string>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/rows/row_block.h"

namespace millrace {

// The index of the field `name`. Throws ConfigError if there is none.
inline size_t field_index(const RowSpec& rows, const std::string& name) {
  const int index = rows.find(name);
  if (index >= 0) return static_cast<size_t>(index);
  std::vector<std::string> names;
  for (const FieldSpec& field : rows.fields) names.push_back(field.name);
  const std::string near = nearest(name, names);
  throw ConfigError(cat("there is no field ", quote(name), " in ", rows.text()), {},
                    near.empty() ? std::string() : cat("did you mean ", near, "?"));
}

// The same, but also throws ConfigError unless the field has exactly one value per row.
inline size_t single_field(const RowSpec& rows, const std::string& name) {
  const size_t index = field_index(rows, name);
  const FieldSpec& field = rows.fields[index];
  if (!field.ragged() && field.shape.elements() == 1) return index;
  throw ConfigError(cat("expected a field of 1 column, ", name, " is ", field.type_text()));
}

// Calls f with a zero of the C++ type of `dtype`.
template <class F>
void with_number_type(DType dtype, const F& f) {
  switch (dtype) {
    case DType::f32: return f(float{});
    case DType::f64: return f(double{});
    case DType::i32: return f(int32_t{});
    case DType::i64: return f(int64_t{});
    case DType::u8: return f(uint8_t{});
  }
}

}  // namespace millrace
