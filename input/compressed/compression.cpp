#include "millrace/input/compressed/compression.h"

#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace {

namespace {

using namespace std::string_view_literals;

constexpr std::string_view kGzip = "\x1f\x8b\x08";
constexpr std::string_view kZstd = "\x28\xb5\x2f\xfd";
// After a byte from 0x50 to 0x5f.
constexpr std::string_view kSkippable = "\x2a\x4d\x18";

bool is_skippable(std::string_view start) {
  return !start.empty() && (static_cast<unsigned char>(start[0]) & 0xf0) == 0x50 &&
         start.substr(1, kSkippable.size()) == kSkippable;
}

}  // namespace

uint64_t little_endian(std::string_view bytes) {
  uint64_t out = 0;
  for (size_t i = bytes.size(); i-- > 0;) out = out << 8 | static_cast<unsigned char>(bytes[i]);
  return out;
}

Compression compression_of(std::string_view start) {
  // The upper three flags of a member are not in use.
  if (start.starts_with(kGzip) && start.size() > kGzip.size() &&
      (static_cast<unsigned char>(start[kGzip.size()]) & 0xe0) == 0) {
    return Compression::gzip;
  }
  return start.starts_with(kZstd) || is_skippable(start) ? Compression::zstd : Compression::none;
}

bool may_be_compressed(std::string_view start) {
  const bool skippable = start.empty() || ((static_cast<unsigned char>(start[0]) & 0xf0) == 0x50 &&
                                           kSkippable.starts_with(start.substr(1)));
  return start.size() < kMagicBytes && (skippable || kGzip.starts_with(start) || kZstd.starts_with(start));
}

std::string_view without_compression(std::string_view path) {
  for (const std::string_view ending : {".gz"sv, ".zst"sv}) {
    if (path.ends_with(ending)) return path.substr(0, path.size() - ending.size());
  }
  return path;
}

void check_is_built(Compression kind, const std::string& path) {
#ifndef MILLRACE_HAS_ZLIB
  if (kind == Compression::gzip || kind == Compression::deflate) {
    throw ConfigError("the file is compressed by gzip, and zlib is not in this build", {path},
                      "install zlib1g-dev and build Millrace again, or decompress the file first: zcat");
  }
#endif
#ifndef MILLRACE_HAS_ZSTD
  if (kind == Compression::zstd) {
    throw ConfigError("the file is compressed by zstd, and zstd is not in this build", {path},
                      "install libzstd-dev and build Millrace again, or decompress the file first: zstdcat");
  }
#endif
  static_cast<void>(kind);
  static_cast<void>(path);
}

uint64_t bgzf_block_bytes(std::string_view start) {
  // A member with one extra field, of six bytes: "BC", its length, and how long the block is, less one.
  constexpr std::string_view kExtra = "\x06\0BC\x02\0"sv;
  constexpr size_t kExtraAt = 10;
  if (start.size() < kBgzfHeader || !start.starts_with("\x1f\x8b\x08\x04") || start.substr(kExtraAt, 6) != kExtra) {
    return 0;
  }
  const uint64_t bytes = little_endian(start.substr(kExtraAt + kExtra.size(), 2)) + 1;
  return bytes > kBgzfHeader + 8 ? bytes : 0;  // two bytes of blocks at least, and the trailer
}

std::optional<ZstdHeader> zstd_header(std::string_view start) {
  ZstdHeader out;
  if (is_skippable(start)) {
    if (start.size() < 8) return {};
    out.skippable = true;
    out.bytes = 8 + little_endian(start.substr(4, 4));
    return out;
  }
  if (!start.starts_with(kZstd) || start.size() < 6) return {};
  const auto descriptor = static_cast<unsigned char>(start[4]);
  if ((descriptor & 0x08) != 0) return {};
  const bool single = (descriptor & 0x20) != 0;
  constexpr size_t kDictionaryBytes[] = {0, 1, 2, 4};
  const size_t dictionary_bytes = kDictionaryBytes[descriptor & 3];
  const size_t size_bytes = descriptor >> 6 == 0 ? (single ? 1 : 0) : size_t{1} << (descriptor >> 6);
  size_t at = 5;
  if (!single) {
    const auto window = static_cast<unsigned char>(start[at++]);
    const uint64_t base = uint64_t{1} << (10 + (window >> 3));
    out.window = base + base / 8 * (window & 7u);
  }
  if (start.size() < at + dictionary_bytes + size_bytes) return {};
  out.dictionary = little_endian(start.substr(at, dictionary_bytes)) != 0;
  at += dictionary_bytes;
  // Two bytes hold what is beyond the largest number of one.
  if (size_bytes > 0) out.text = little_endian(start.substr(at, size_bytes)) + (size_bytes == 2 ? 256 : 0);
  if (single) out.window = *out.text;
  out.checksum = (descriptor & 0x04) != 0;
  out.bytes = at + size_bytes;
  return out;
}

}  // namespace millrace
