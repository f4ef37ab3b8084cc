// What lies compressed in a file, as a file of its own: an array in a .gz, or a deflated member of an .npz. The one
// place of the arrays that decompresses.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "millrace/input/files/file_system.h"

namespace millrace {

enum class Packing : uint8_t { none, gzip, deflate };

// By the first bytes of a file.
Packing packing_of(const File& file);

struct PackedBytes {
  std::function<std::shared_ptr<const File>()> open;  // the file
  std::string path;                                   // for messages
  Packing packing = Packing::gzip;
  uint64_t begin = 0, end = 0;  // in the file
};

// What comes out. It may be read at any place, by any thread. Throws DataError if it cannot be had.
std::shared_ptr<const File> unpack(const PackedBytes& bytes);

}  // namespace millrace
