// The members of a zip archive, as its central directory names them; with zip64. Nothing is decompressed here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/input/arrays/array_layout.h"

namespace millrace {

struct ZipMember {
  enum class Method : uint16_t { stored = 0, deflated = 8 };

  std::string name;
  Method method = Method::stored;  // or another number
  bool encrypted = false;
  uint64_t packed_bytes = 0, bytes = 0;  // in the archive, and decompressed: what the archive says
  uint32_t crc = 0;                      // of these bytes
  uint64_t header = 0;                   // where the member's own header is
};

// An error without a place, for what is wrong with the record at byte `at`.
DataError damaged_archive(uint64_t at);

// Throws DataError if the file is no zip archive, or is damaged; the error has no place. A directory may have 16 MiB.
std::vector<ZipMember> read_zip_directory(const FileRange& archive);

// The bytes of the member as they lie in the archive. Throws DataError if they are not all there.
FileRange bytes_of(const ZipMember& member, const FileRange& archive);

}  // namespace millrace
