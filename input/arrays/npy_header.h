// The header of a file of NumPy (.npy, formats 1.0 to 3.0).
#pragma once

#include "millrace/input/arrays/array_layout.h"

namespace millrace {

// Reads the header at the beginning of `range`. Throws DataError if it is none, for numbers that no field holds, and as
// layout_of() does; the error has no place.
ArrayLayout read_npy_header(const FileRange& range);

}  // namespace millrace
