// gzip: members, each a header, blocks of deflate, and a checksum. zlib reads the blocks, without headers, as it must
// where it goes on from within a member; libdeflate is faster with whole members and with checksums.
#include <algorithm>
#include <new>

#include "millrace/core/text.h"
#include "millrace/input/compressed/text_decoder.h"

#ifdef MILLRACE_HAS_ZLIB
#include <zlib.h>
#ifdef MILLRACE_HAS_LIBDEFLATE
#include <libdeflate.h>
#endif

namespace millrace {

namespace {

constexpr size_t kWindowBytes = 32768;
constexpr size_t kMemberHeader = 10, kTrailer = 8;

uint32_t crc_after(uint32_t crc, const char* data, size_t size) {
#ifdef MILLRACE_HAS_LIBDEFLATE
  return libdeflate_crc32(crc, data, size);
#else
  return static_cast<uint32_t>(crc32_z(crc, reinterpret_cast<const Bytef*>(data), size));
#endif
}

#ifdef MILLRACE_HAS_LIBDEFLATE
struct FreeDecompressor {
  void operator()(libdeflate_decompressor* one) const { libdeflate_free_decompressor(one); }
};
#endif

class GzipDecoder final : public TextDecoder {
 public:
  explicit GzipDecoder(Compression how) : TextDecoder(how), bare_(how == Compression::deflate) {
    if (inflateInit2(&stream_, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
  }
  ~GzipDecoder() override { inflateEnd(&stream_); }

  bool decode_whole([[maybe_unused]] std::span<const char> compressed, [[maybe_unused]] std::span<char> to) override {
#ifdef MILLRACE_HAS_LIBDEFLATE
    if (!whole_) whole_.reset(libdeflate_alloc_decompressor());
    if (!whole_) throw std::bad_alloc();
    while (!compressed.empty()) {
      size_t used = 0, made = 0;
      if (libdeflate_gzip_decompress_ex(whole_.get(), compressed.data(), compressed.size(), to.data(), to.size(), &used,
                                        &made) != LIBDEFLATE_SUCCESS) {
        return false;
      }
      compressed = compressed.subspan(used);
      to = to.subspan(made);
    }
    return to.empty();
#else
    return false;
#endif
  }

  bool at_point() const override {
    return next_ == Next::blocks && (stream_.data_type & (kEndOfBlock | kLastBlock)) == kEndOfBlock;
  }

  TextPoint point() const override {
    auto window = std::make_shared<std::string>(kWindowBytes, '\0');
    uInt bytes = 0;
    // It only copies.
    inflateGetDictionary(const_cast<z_stream*>(&stream_), reinterpret_cast<Bytef*>(window->data()), &bytes);
    window->resize(bytes);
    return {.text = text(),
            .at = at(),
            .at_line = at_line_,
            .window = std::move(window),
            .bits = static_cast<uint8_t>(stream_.data_type & kBits),
            .crc = crc_,
            .length = length_};
  }

  bool agrees_with(const TextPoint& later) const override {
    return next_ == Next::blocks && crc_ == later.crc && length_ == later.length;
  }

 private:
  // The step that comes next.
  enum class Next : uint8_t { header, prime, blocks, trailer, end };
  static constexpr int kBits = 7, kLastBlock = 64, kEndOfBlock = 128;  // of z_stream::data_type

  void start_at(const TextPoint& from) override {
    inflateReset(&stream_);
    stream_.data_type = 0;
    window_ = from.window;
    bits_ = from.bits;
    crc_ = from.crc;
    length_ = from.length;
    next_ = window_ ? Next::prime : bare_ ? Next::blocks : Next::header;
  }

  size_t decode(const File& raw, char* to, size_t bytes) override {
    for (;;) {
      switch (next_) {
        case Next::header:
          if (!read_header(raw)) return 0;
          break;
        case Next::prime: prime(raw); break;
        case Next::trailer: read_trailer(raw); break;
        case Next::end: return 0;
        case Next::blocks: {
          want(raw, 1);
          const bool at_end = input().empty();
          size_t got = 0;
          const int code = inflate_some(to, bytes, got);
          if (got > 0) return got;
          if (code != Z_OK && code != Z_BUF_ERROR && code != Z_STREAM_END) throw damaged();
          if (at_end && code != Z_STREAM_END) throw truncated();
          break;
        }
      }
    }
  }

  // A step of zlib, up to the end of a block; sets what comes next.
  int inflate_some(char* to, size_t bytes, size_t& got) {
    constexpr size_t kMost = size_t{1} << 30;
    const std::string_view in = input();
    const size_t room = std::min(bytes, kMost);
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
    stream_.avail_in = static_cast<uInt>(in.size());
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    stream_.avail_out = static_cast<uInt>(room);
    // Without input there may be a last step that makes no text, which zlib tells only if it need not stop at a block.
    const int code = inflate(&stream_, in.empty() ? Z_NO_FLUSH : Z_BLOCK);
    take(in.size() - stream_.avail_in);
    got = room - stream_.avail_out;
    crc_ = bare_ ? 0 : crc_after(crc_, to, got);
    length_ += static_cast<uint32_t>(got);
    if (code == Z_STREAM_END) next_ = bare_ ? Next::end : Next::trailer;
    return code;
  }

  // Gives zlib what it had before the point.
  void prime(const File& raw) {
    if (bits_ > 0) {
      unsigned char before = 0;
      if (at() == 0 || raw.read(at() - 1, &before, 1) != 1) throw truncated();
      inflatePrime(&stream_, bits_, before >> (8 - bits_));
    }
    inflateSetDictionary(&stream_, reinterpret_cast<const Bytef*>(window_->data()), static_cast<uInt>(window_->size()));
    window_ = nullptr;
    next_ = Next::blocks;
  }

  // False at the end of the file.
  bool read_header(const File& raw) {
    want(raw, kMemberHeader);
    // Tapes and some programs fill up with zeros, and gzip takes them for the end, too.
    if (!input().empty() && input()[0] == '\0' && at() > 0) pass_zeros(raw);
    if (input().empty()) return false;
    if (input().size() >= kMagicBytes && compression_of(input()) != Compression::gzip) throw no_member();
    if (input().size() < kMemberHeader) throw truncated();
    begin_member();
    const auto flags = static_cast<unsigned char>(input()[3]);
    constexpr unsigned kHeaderCrc = 2, kExtra = 4, kName = 8, kComment = 16;
    pass(raw, kMemberHeader);
    if ((flags & kExtra) != 0) {
      want(raw, 2);
      if (input().size() < 2) throw truncated();
      pass(raw, 2 + little_endian(input().substr(0, 2)));
    }
    if ((flags & kName) != 0) pass_text(raw);
    if ((flags & kComment) != 0) pass_text(raw);
    if ((flags & kHeaderCrc) != 0) pass(raw, 2);
    inflateReset(&stream_);
    stream_.data_type = 0;
    crc_ = length_ = 0;
    next_ = Next::blocks;
    return true;
  }

  void pass_zeros(const File& raw) {
    for (;;) {
      const size_t other = input().find_first_not_of('\0');
      if (other != std::string_view::npos) {
        take(other);
        throw no_member();
      }
      take(input().size());
      want(raw, 1);
      if (input().empty()) return;
    }
  }

  // Up to a byte 0.
  void pass_text(const File& raw) {
    for (;;) {
      want(raw, 1);
      if (input().empty()) throw truncated();
      const size_t end = input().find('\0');
      if (end != std::string_view::npos) return take(end + 1);
      take(input().size());
    }
  }

  void read_trailer(const File& raw) {
    want(raw, kTrailer);
    if (input().size() < kTrailer) throw truncated();
    const bool same = little_endian(input().substr(0, 4)) == crc_ && little_endian(input().substr(4, 4)) == length_;
    take(kTrailer);
    if (!same) throw error("the gzip member has another checksum or length than its text; it ends");
    next_ = Next::header;
  }

  DataError damaged() const {
    return error(cat("the compressed data are damaged (", stream_.msg != nullptr ? stream_.msg : "no block", ")"));
  }
  DataError no_member() const {
    return error("expected another gzip member or the end", "is the file damaged, or was something else added to it?");
  }

  const bool bare_;
  z_stream stream_{};
#ifdef MILLRACE_HAS_LIBDEFLATE
  std::unique_ptr<libdeflate_decompressor, FreeDecompressor> whole_;
#endif
  Next next_ = Next::end;
  uint32_t crc_ = 0, length_ = 0;  // of the member's text so far
  // They belong to the point from which it goes on.
  std::shared_ptr<const std::string> window_;
  uint8_t bits_ = 0;
};

}  // namespace

std::unique_ptr<TextDecoder> make_gzip_decoder(Compression kind) { return std::make_unique<GzipDecoder>(kind); }

}  // namespace millrace

#else

namespace millrace {

std::unique_ptr<TextDecoder> make_gzip_decoder(Compression) { return nullptr; }

}  // namespace millrace

#endif
