// Code shared by transforms that add a field to rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/rows/chunk.h"

namespace millrace {

// Adds `field` after the others and returns its index. Throws ConfigError if there is a field of that name already.
inline size_t add_field(RowSpec& rows, FieldSpec field) {
  if (rows.find(field.name) >= 0) {
    throw ConfigError(cat("there is a field ", quote(field.name), " already: ", rows.text()), {},
                      "give the new one another name");
  }
  rows.fields.push_back(std::move(field));
  return rows.fields.size() - 1;
}

// Gives the chunk's rows the fields of `spec`: their own fields and one more, whose contents are undefined. Values
// whose size varies are handed over, not copied, because the old rows are not read any more.
inline void copy_fields(Chunk& chunk, const SharedRowSpec& spec) {
  RowBlock& from = chunk.rows;
  RowBlock& to = chunk.spare;
  to.configure(spec, std::max<int64_t>(from.size(), 1));
  to.resize(from.size());
  const size_t fields = from.spec().fields.size();
  for (size_t field = 0; field < fields; ++field) {
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

}  // namespace millrace
