// Checks that a matched file has not changed: its size while it is read, its content when a saved run goes on.
#pragma once

#include <cstdint>

#include "millrace/input/files/file_system.h"

namespace millrace {

// A digest that is kept to notice later that a file has changed: 64-bit FNV-1a of its first and of its last block.
struct FileDigest {
  // Bytes of a block; a smaller file is one block as a whole.
  static constexpr uint64_t kBlockBytes = 4096;

  uint64_t first = 0, last = 0;
};

// The digest of the first entry.size bytes of the file. Reads two blocks. Throws an IoError that names the file, also
// if the file is shorter now.
FileDigest digest_of(const FileEntry& entry, FileSystem& files);

// Throws the error for a file that now has only `size` bytes, fewer than when it was matched.
[[noreturn]] void throw_shrunk(const FileEntry& entry, uint64_t size);

}  // namespace millrace
