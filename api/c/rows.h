// Rows that a C program keeps in arrays, one for each field: the `width` values of a row stand before the values of
// the next row. Texts are pointers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "millrace/c.h"
#include "millrace/core/tensor.h"
#include "millrace/input/rows/row_block.h"

namespace millrace::c {

// Its name lives as long as `field`.
millrace_field field_to_c(const FieldSpec& field);

// Throws ArgumentError for fields that make no sense.
RowSpec rows_of(const millrace_field* fields, size_t count);

// Throws ArgumentError if an array is missing.
void require_each(const void* const* values, size_t count);

// Copies the arrays' rows from `begin` on to the first `count` rows of `block`. Throws ArgumentError for texts of 4
// GiB.
void copy_in(const void* const* values, int64_t begin, int64_t count, RowBlock& block);

// The values of a field of texts, or of a ragged one, one after another.
struct JoinedValues {
  std::vector<std::byte> bytes;
  std::vector<int64_t> row_ends, text_ends;
};

// REQUIRES: the field varies.
JoinedValues join_values(const RowBlock& block, size_t field);

// Asks the program's function for rows: it writes them to arrays without gaps, which are then copied.
class Filler {
 public:
  Filler(RowSpec rows, std::string kind, millrace_fill fill, void* user)
      : rows_(std::move(rows)), kind_(std::move(kind)), fill_(fill), user_(user) {}

  // Fills the block up to its capacity. Throws DataError when the program's function failed, ConfigError when it made
  // too many rows.
  void operator()(RowBlock& block, uint32_t pass);

 private:
  RowSpec rows_;
  std::string kind_;
  millrace_fill fill_;
  void* user_;
  std::vector<std::vector<std::byte>> memory_;
  std::vector<void*> values_;
};

}  // namespace millrace::c
