// What must still be true of a file that was matched: its size while it is read, its content when a saved run goes on.
#pragma once

#include <cstdint>

#include "millrace/input/files/file_system.h"

namespace millrace {

// What is kept of a file to notice later that it has changed: 64-bit FNV-1a of its first and of its last block.
struct FileDigest {
  // Bytes of a block; all that there is of a smaller file.
  static constexpr uint64_t kBlockBytes = 4096;

  uint64_t first = 0, last = 0;
};

// Of the bytes that `entry` has. Reads two blocks. Throws IoError that names the file, also when it is shorter now.
FileDigest digest_of(const FileEntry& entry, FileSystem& files);

// The error of a file that has fewer bytes than when it was matched.
[[noreturn]] void throw_shrunk(const FileEntry& entry, uint64_t size);

}  // namespace millrace
