// The header of a file of the IDX format, which MNIST's files have.
#pragma once

#include "millrace/input/arrays/array_layout.h"

namespace millrace {

// Reads the header at the beginning of `range`. Throws DataError if it is none, and as layout_of() does; the error has
// no place.
ArrayLayout read_idx_header(const FileRange& range);

}  // namespace millrace
