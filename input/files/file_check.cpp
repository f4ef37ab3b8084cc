#include "millrace/input/files/file_check.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "millrace/core/errors.h"
#include "millrace/core/random.h"
#include "millrace/core/text.h"

namespace millrace {

FileDigest digest_of(const FileEntry& entry, FileSystem& files) {
  const auto file = files.open(entry.path);
  std::array<char, FileDigest::kBlockBytes> block;
  const auto bytes = static_cast<size_t>(std::min(entry.size, FileDigest::kBlockBytes));
  const auto hash_at = [&](uint64_t offset) {
    const size_t got = file->read(offset, block.data(), bytes);
    if (got < bytes) throw_shrunk(entry, std::min(offset + got, file->size()));
    return fnv1a64(std::string_view(block.data(), bytes));
  };
  return {hash_at(0), hash_at(entry.size - bytes)};
}

void throw_shrunk(const FileEntry& entry, uint64_t size) {
  throw IoError(cat("the file is shorter than when the run began: expected ", entry.size, " bytes, got ", size),
                {.file = entry.path}, "do not write to input files while they are read");
}

}  // namespace millrace
