// How a file is compressed, by its first bytes, and what the headers of BGZF blocks and zstd frames say. Pure
// functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "millrace/core/export.h"

namespace millrace {

enum class Compression : uint8_t {
  none,
  gzip,     // members, one after another; BGZF is gzip whose members tell their length
  zstd,     // frames, one after another
  deflate,  // what is in a gzip member, without its header and its checksum: of zip archives
};

// As many bytes at the start of a file are enough to know how it is compressed.
inline constexpr size_t kMagicBytes = 4;
MILLRACE_EXPORT Compression compression_of(std::string_view start);
// Whether a file that begins with these bytes, fewer than kMagicBytes, may turn out to be compressed.
bool may_be_compressed(std::string_view start);
// The path without the ending that compressed files have: "a.csv" for "a.csv.gz" and "a.csv.zst". Other paths stay.
MILLRACE_EXPORT std::string_view without_compression(std::string_view path);

// Throws ConfigError, which names the Debian package, if the build has no library for it.
void check_is_built(Compression kind, const std::string& path);

// Bytes of the BGZF block that begins with these bytes; 0 if it is no block, or if there are fewer than kBgzfHeader.
inline constexpr size_t kBgzfHeader = 18;
uint64_t bgzf_block_bytes(std::string_view start);

struct ZstdHeader {
  uint64_t bytes = 0;              // of the header; of a skippable frame: of the whole frame
  bool skippable = false;          // a frame without text
  bool dictionary = false;         // it cannot be read without one
  bool checksum = false;           // four bytes after its last block
  uint64_t window = 0;             // how much text must be held to read it
  std::optional<uint64_t> text{};  // bytes of text, if the header tells
};
// As many bytes are enough for any header.
inline constexpr size_t kZstdHeader = 18;
// No value if no frame begins with these bytes, or if the header goes on after them.
std::optional<ZstdHeader> zstd_header(std::string_view start);

// The number of `bytes` bytes, the lowest first.
uint64_t little_endian(std::string_view bytes);

}  // namespace millrace
