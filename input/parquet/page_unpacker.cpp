#include "millrace/input/parquet/page_unpacker.h"

#include <algorithm>
#include <cstring>

#include "millrace/core/text.h"
#include "millrace/input/compressed/compressed_text.h"
#include "millrace/input/parquet/bit_runs.h"
#include "millrace/input/parquet/thrift_reader.h"

#ifdef MILLRACE_HAS_SNAPPY
#include <snappy-c.h>
#endif
#ifdef MILLRACE_HAS_LZ4
#include <lz4.h>
#endif

namespace millrace {

namespace {

// As far as its format can shrink bytes.
constexpr size_t kMostOfSnappy = 24, kMostOfLz4 = 256;
// As far as pages of numbers are shrunk; what is shrunk more is decompressed in steps.
constexpr size_t kUsual = 64, kUsualBytes = size_t{1} << 20;

bool unpack_snappy([[maybe_unused]] std::span<const char> packed, [[maybe_unused]] std::span<char> to) {
#ifdef MILLRACE_HAS_SNAPPY
  size_t size = 0;
  if (snappy_uncompressed_length(packed.data(), packed.size(), &size) != SNAPPY_OK || size != to.size()) return false;
  return snappy_uncompress(packed.data(), packed.size(), to.data(), &size) == SNAPPY_OK && size == to.size();
#else
  return false;
#endif
}

bool unpack_lz4([[maybe_unused]] std::span<const char> packed, [[maybe_unused]] std::span<char> to) {
#ifdef MILLRACE_HAS_LZ4
  const auto size = static_cast<int>(to.size());
  return LZ4_decompress_safe(packed.data(), to.data(), static_cast<int>(packed.size()), size) == size;
#else
  return false;
#endif
}

}  // namespace

void PageBytes::reserve(size_t bytes, size_t kept) {
  if (bytes_ != nullptr && bytes <= capacity_) return;
  auto more = std::make_unique_for_overwrite<std::byte[]>(bytes + kPageSlack);
  if (kept > 0) std::memcpy(more.get(), bytes_.get(), kept);
  std::memset(more.get() + bytes, 0, kPageSlack);
  bytes_ = std::move(more);
  capacity_ = bytes;
}

void check_is_built(PageCodec codec, const std::string& column) {
  const char* package = nullptr;
  if (codec == PageCodec::gzip) package = "zlib1g-dev";
  if (codec == PageCodec::zstd) package = "libzstd-dev";
  if (codec == PageCodec::snappy) package = "libsnappy-dev";
  if (codec == PageCodec::lz4_raw) package = "liblz4-dev";
#ifdef MILLRACE_HAS_ZLIB
  if (codec == PageCodec::gzip) return;
#endif
#ifdef MILLRACE_HAS_ZSTD
  if (codec == PageCodec::zstd) return;
#endif
#ifdef MILLRACE_HAS_SNAPPY
  if (codec == PageCodec::snappy) return;
#endif
#ifdef MILLRACE_HAS_LZ4
  if (codec == PageCodec::lz4_raw) return;
#endif
  if (package == nullptr) return;
  throw ConfigError(cat(column, " is compressed by ", to_string(codec), ", which is not in this build"), {},
                    cat("install ", package, " and build Millrace again, or write the file without compression"));
}

void PageUnpacker::unpack(PageCodec codec, const PackedBytes& packed, size_t size, PageBytes& to, size_t at) {
  const std::span<const char> from = packed.bytes;
  if (codec == PageCodec::gzip || codec == PageCodec::zstd) return decode(codec, packed, size, to, at);
  const bool copied = codec == PageCodec::none;
  const size_t most = copied ? 1 : codec == PageCodec::snappy ? kMostOfSnappy : kMostOfLz4;
  bool good = size <= most * from.size() && (!copied || size == from.size());
  if (good) {
    to.reserve(at + size, at);
    const std::span<char> out(reinterpret_cast<char*>(to.data()) + at, size);
    if (copied) {
      std::copy(from.begin(), from.end(), out.begin());
    } else {
      good = codec == PageCodec::snappy ? unpack_snappy(from, out) : unpack_lz4(from, out);
    }
  }
  if (!good) throw damaged_parquet(cat("the compressed page at byte ", packed.begin, " is not what it says"));
}

void PageUnpacker::decode(PageCodec codec, const PackedBytes& packed, size_t size, PageBytes& to, size_t at) {
  std::unique_ptr<TextDecoder>& decoder = codec == PageCodec::gzip ? gzip_ : zstd_;
  const Compression kind = codec == PageCodec::gzip ? Compression::gzip : Compression::zstd;
  if (!decoder) decoder = make_decoder(kind, packed.entry->path);
  const auto out = [&] { return reinterpret_cast<char*>(to.data()) + at; };
  size_t room = std::min(size, std::max(kUsualBytes, kUsual * packed.bytes.size()));
  to.reserve(at + room, at);
  if (room == size && decoder->decode_whole(packed.bytes, {out(), size})) return;
  // This also says what is wrong, and where.
  decoder->start({packed.entry, packed.begin, packed.begin + packed.bytes.size(), CompressedText::kMostWindow},
                 {.at = packed.begin});
  size_t done = 0;
  for (;;) {
    char beyond = 0;
    const bool full = done == size;
    const size_t got = decoder->read(packed.file, full ? &beyond : out() + done, full ? 1 : room - done);
    if (got == 0 || full) {
      if (got == 0 && full) return;
      throw damaged_parquet(cat("the compressed page at byte ", packed.begin, " is not as long as it says"));
    }
    done += got;
    if (done < room || room == size) continue;
    room = std::min(size, 2 * room);
    to.reserve(at + room, at + done);
  }
}

}  // namespace millrace
