// Text, compressed in every way that a file may be; what tests of compressed text share.
#pragma once

#if defined(MILLRACE_HAS_ZLIB) && defined(MILLRACE_HAS_ZSTD)
#define MILLRACE_TESTS_COMPRESSED 1

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/core/random.h"
#include "millrace/core/text.h"
#include "millrace/input/files/file_system.h"

namespace millrace::testing_support {

inline std::string little_endian_text(uint64_t value, size_t bytes) {
  std::string out;
  for (size_t i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
  return out;
}

inline std::string deflated(std::string_view text, int level = 6) {
  z_stream stream{};
  if (deflateInit2(&stream, level, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("z");
  std::string out(deflateBound(&stream, static_cast<uLong>(text.size())) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) throw std::runtime_error("deflate");
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

inline std::string gzip_trailer(std::string_view text) {
  const auto crc = crc32_z(0, reinterpret_cast<const Bytef*>(text.data()), text.size());
  return little_endian_text(crc, 4) + little_endian_text(text.size(), 4);
}

struct GzipHeader {
  std::string extra = {}, name = {}, comment = {};
  bool crc = false;
};

inline std::string gzip_of(std::string_view text, const GzipHeader& header = {}, int level = 6) {
  const int flags = (header.crc ? 2 : 0) | (header.extra.empty() ? 0 : 4) | (header.name.empty() ? 0 : 8) |
                    (header.comment.empty() ? 0 : 16);
  std::string out = "\x1f\x8b\x08";
  out += static_cast<char>(flags);
  out += std::string("\0\0\0\0\0\xff", 6);
  if (!header.extra.empty()) out += little_endian_text(header.extra.size(), 2) + header.extra;
  if (!header.name.empty()) out += header.name + '\0';
  if (!header.comment.empty()) out += header.comment + '\0';
  if (header.crc) {
    out += little_endian_text(crc32_z(0, reinterpret_cast<const Bytef*>(out.data()), out.size()) & 0xffff, 2);
  }
  return out + deflated(text, level) + gzip_trailer(text);
}

// As bgzip writes it, with blocks of `bytes` bytes of text.
inline std::string bgzf_of(std::string_view text, size_t bytes = 65280, bool with_end = true) {
  std::string out;
  const auto add = [&](std::string_view block) {
    std::string extra("BC\2\0\0\0", 6);
    const size_t size = gzip_of(block, {.extra = extra}).size();
    extra[4] = static_cast<char>((size - 1) & 0xff);
    extra[5] = static_cast<char>((size - 1) >> 8);
    out += gzip_of(block, {.extra = extra});
  };
  for (size_t at = 0; at < text.size(); at += bytes) add(text.substr(at, bytes));
  if (with_end) add({});
  return out;
}

struct ZstdFrameOptions {
  bool size = true, checksum = true;
  int level = 3;
  int window_log = 0;  // 0: as the library chooses
};

inline std::string zstd_of(std::string_view text, const ZstdFrameOptions& options = {}) {
  const std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
  const auto set = [&](ZSTD_cParameter key, int value) {
    if (ZSTD_isError(ZSTD_CCtx_setParameter(context.get(), key, value)) != 0) throw std::runtime_error("zstd");
  };
  set(ZSTD_c_compressionLevel, options.level);
  set(ZSTD_c_contentSizeFlag, options.size ? 1 : 0);
  set(ZSTD_c_checksumFlag, options.checksum ? 1 : 0);
  if (options.window_log > 0) set(ZSTD_c_windowLog, options.window_log);
  std::string out(ZSTD_compressBound(text.size()), '\0');
  const size_t bytes = ZSTD_compress2(context.get(), out.data(), out.size(), text.data(), text.size());
  if (ZSTD_isError(bytes) != 0) throw std::runtime_error(ZSTD_getErrorName(bytes));
  out.resize(bytes);
  return out;
}

inline std::string skippable_frame(std::string_view bytes) {
  return "\x53\x2a\x4d\x18" + little_endian_text(bytes.size(), 4) + std::string(bytes);
}

// Joins what `compress` makes of pieces of the text, which are of 1 to 2 * `mean` bytes.
inline std::string in_pieces(std::string_view text, size_t mean,
                             const std::function<std::string(std::string_view)>& compress) {
  std::string out;
  for (uint64_t i = 0; !text.empty(); ++i) {
    const size_t bytes = std::min<size_t>(text.size(), 1 + philox64(5, 7, i) % (2 * mean));
    out += compress(text.substr(0, bytes));
    text.remove_prefix(bytes);
  }
  return out;
}

struct CompressedKind {
  const char* name;
  std::function<std::string(std::string_view)> compress;
};

// Every kind, by name; those that have pieces cut them in the middle of lines.
inline const std::vector<CompressedKind>& compressed_kinds() {
  static const auto gzip = [](std::string_view text) { return gzip_of(text); };
  static const auto sized = [](std::string_view text) { return zstd_of(text); };
  static const auto unsized = [](std::string_view text) { return zstd_of(text, {.size = false, .checksum = false}); };
  static const std::vector<CompressedKind> kinds = {
      {"gzip", gzip},
      {"gzip, stored", [](std::string_view text) { return gzip_of(text, {}, 0); }},
      {"gzip with a header",
       [](std::string_view text) {
         return gzip_of(text, {.extra = std::string("ab\3\0xyz", 7), .name = "a.csv", .comment = "text", .crc = true});
       }},
      {"members", [](std::string_view text) { return in_pieces(text, 500, gzip); }},
      {"members, some empty",
       [](std::string_view text) {
         return gzip("") + in_pieces(text, 700, [](std::string_view piece) { return gzip("") + gzip(piece); }) +
                gzip("");
       }},
      {"zeros at the end", [](std::string_view text) { return gzip_of(text) + std::string(777, '\0'); }},
      {"bgzf", [](std::string_view text) { return bgzf_of(text, 300); }},
      {"bgzf without an end", [](std::string_view text) { return bgzf_of(text, 65280, false); }},
      {"zstd", sized},
      {"zstd without its size", unsized},
      {"frames", [](std::string_view text) { return in_pieces(text, 600, sized); }},
      {"frames without their size", [](std::string_view text) { return in_pieces(text, 600, unsized); }},
      {"frames of all sorts",
       [](std::string_view text) {
         bool other = false;
         return skippable_frame("first") + in_pieces(text, 400, [&](std::string_view piece) {
                  other = !other;
                  return (other ? sized(piece) : unsized(piece)) + skippable_frame(std::string(piece.size() % 7, 'x')) +
                         sized("");
                });
       }},
  };
  return kinds;
}

// Lines of numbers that do not compress too well; `bytes` bytes of them, about.
inline std::string numbers_text(size_t bytes) {
  std::string out;
  for (uint64_t i = 0; out.size() < bytes; ++i) {
    out += cat(i, ',', philox64(1, 2, i) % 100000, ',', static_cast<double>(philox64(1, 3, i) % 1000) / 8, '\n');
  }
  return out;
}

// A file in memory that counts what is read of it.
class CountedFile final : public File {
 public:
  explicit CountedFile(std::string bytes) : bytes_(std::move(bytes)) {}
  uint64_t size() const override { return bytes_.size(); }
  size_t read(uint64_t offset, void* to, size_t bytes) const override {
    if (offset >= bytes_.size()) return 0;
    const size_t got = bytes_.copy(static_cast<char*>(to), bytes, static_cast<size_t>(offset));
    read_ += got;
    return got;
  }
  uint64_t bytes_read() const { return read_; }

 private:
  const std::string bytes_;
  mutable std::atomic<uint64_t> read_ = 0;
};

inline std::shared_ptr<const FileEntry> entry_of(const std::string& path, uint64_t size, uint32_t index = 0) {
  auto entry = std::make_shared<FileEntry>();
  entry->path = path;
  entry->index = index;
  entry->size = size;
  return entry;
}

}  // namespace millrace::testing_support

#endif
