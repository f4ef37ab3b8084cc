// ArrayLayout: where the rows of an array lie in the bytes of a file, and what a row is. The headers of formats become
// one, and every size in them is checked against the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "millrace/core/tensor.h"
#include "millrace/input/arrays/number_format.h"
#include "millrace/input/files/file_system.h"

namespace millrace {

// A part of a file.
struct FileRange {
  const File& file;
  uint64_t begin = 0, size = 0;

  // The `bytes` bytes at `offset` of the part, or as many of them as it has.
  std::string read(uint64_t offset, size_t bytes) const;
};

// A hint for bytes that should have been arrays and begin like text or like a file of another format; else empty.
std::string other_format_hint(const FileRange& range);
// The same, from the first bytes: 512 are enough.
std::string format_hint(std::string_view start);

struct ArrayLayout {
  NumberFormat numbers;
  Shape row;  // (1) if the array has one dimension
  uint64_t rows = 0;
  // Rows lie one after another; or, in Fortran's order, all first values of all rows, then all second ones.
  bool by_columns = false;
  uint64_t begin = 0;  // of the first number, in the range of the array

  uint64_t row_bytes() const { return static_cast<uint64_t>(row.elements()) * numbers.bytes(); }
};

// The layout of an array of `sizes`, whose numbers are what `range` has from `begin` on. Throws DataError if they do
// not fit, if there is no row to speak of, or if there are too many dimensions.
struct ArraySizes {
  NumberFormat numbers;
  std::span<const uint64_t> sizes;
  uint64_t begin = 0;
};
ArrayLayout layout_of(const ArraySizes& array, const FileRange& range);

// Read the header at the beginning of `range`: of a file of NumPy (.npy, formats 1.0 to 3.0), and of one of the IDX
// format, which MNIST's files have. Throw DataError if it is none, for numbers that no field holds, and as layout_of()
// does; the error has no place.
ArrayLayout read_npy_header(const FileRange& range);
// The same, but the whole array is one row; a single number is a row of one column. Throws DataError for one in
// Fortran's order, too.
ArrayLayout read_npy_row(const FileRange& range);
ArrayLayout read_idx_header(const FileRange& range);

}  // namespace millrace
