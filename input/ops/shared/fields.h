// Code shared by transforms of rows: finding and adding fields, calling code for their type, changing them, and leaving
// rows out.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/rows/chunk.h"

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

// Adds `field` after the others and returns its index. Throws ConfigError if there is a field of that name already.
inline size_t add_field(RowSpec& rows, FieldSpec field) {
  if (rows.find(field.name) >= 0) {
    throw ConfigError(cat("there is a field ", quote(field.name), " already: ", rows.text()), {},
                      "give the new one another name");
  }
  rows.fields.push_back(std::move(field));
  return rows.fields.size() - 1;
}

// A field of one text.
inline FieldSpec text_field(std::string name) {
  FieldSpec field = {std::move(name), DType::u8, Shape{1}};
  field.text = true;
  return field;
}

inline void set_text(RowBlock& rows, size_t field, int64_t row, std::string_view text) {
  Varying& values = rows.varying(field, row);
  values.clear();
  values.add_text(text);
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

// Gives the chunk's rows the fields of `spec`: their own fields, and perhaps one more. The contents of that one and of
// those in `changed` are undefined; chunk.spare has the old rows. Other values whose size varies are handed over, not
// copied, because nobody reads them in the old rows any more.
inline void copy_fields(Chunk& chunk, const SharedRowSpec& spec, std::span<const size_t> changed = {}) {
  RowBlock& from = chunk.rows;
  RowBlock& to = chunk.spare;
  to.configure(spec, std::max<int64_t>(from.size(), 1));
  to.resize(from.size());
  for (size_t field = 0; field < from.spec().fields.size(); ++field) {
    if (std::find(changed.begin(), changed.end(), field) != changed.end()) continue;
    const bool varies = from.spec().fields[field].varies();
    for (int64_t row = 0; row < from.size(); ++row) {
      if (varies) {
        std::swap(to.varying(field, row), from.varying(field, row));
      } else {
        to.copy_field(field, from, row, row);
      }
    }
  }
  for (int64_t row = 0; row < from.size(); ++row) to.id(row) = from.id(row);
  chunk.swap_rows();
}

// Leaves out the rows for which `keeps(row)` is false. `owner` is the transform, and `name` the op's name.
template <class Keeps>
void keep_if(Chunk& chunk, const void* owner, std::string_view name, const Keeps& keeps) {
  auto& flags = chunk.work().get<std::vector<uint8_t>>(owner);
  flags.resize(static_cast<size_t>(chunk.rows.size()));
  for (int64_t row = 0; row < chunk.rows.size(); ++row) flags[static_cast<size_t>(row)] = keeps(row) ? 1 : 0;
  chunk.keep_rows(flags, name);
}

}  // namespace millrace
