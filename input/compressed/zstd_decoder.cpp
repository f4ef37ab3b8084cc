// zstd: frames, each a header, blocks and mostly a checksum; and skippable frames, which have no text.
#include "millrace/input/compressed/text_decoder.h"

#ifdef MILLRACE_HAS_ZSTD
#include <zstd.h>

#include <algorithm>
#include <new>

#include "millrace/core/text.h"

namespace millrace {

namespace {

class ZstdDecoder final : public TextDecoder {
 public:
  ZstdDecoder() : TextDecoder(Compression::zstd), context_(ZSTD_createDCtx()) {
    if (!context_) throw std::bad_alloc();
  }

  bool decode_whole(std::span<const char> compressed, std::span<char> to) override {
    return ZSTD_decompressDCtx(context_.get(), to.data(), to.size(), compressed.data(), compressed.size()) == to.size();
  }

 private:
  struct Free {
    void operator()(ZSTD_DCtx* one) const { ZSTD_freeDCtx(one); }
  };

  void start_at(const TextPoint&) override { at_start_ = true; }

  size_t decode(const File& raw, char* to, size_t bytes) override {
    for (;;) {
      if (at_start_ && !begin_frame(raw)) return 0;
      if (!flushes_) want(raw, 1);
      if (!flushes_ && input().empty()) throw truncated();
      size_t got = 0;
      const size_t left = step(to, bytes, got);
      if (got > 0) return got;
      if (ZSTD_isError(left) != 0) {
        throw error(cat("the compressed data are damaged (", ZSTD_getErrorName(left), ")"));
      }
    }
  }

  // A step of the library. It gets one block at a time, and nothing while it still has text: so all text before a block
  // that is damaged comes before the error, whatever is asked for at once.
  size_t step(char* to, size_t bytes, size_t& got) {
    const std::string_view in = input().substr(0, flushes_ ? 0 : next_);
    ZSTD_inBuffer from = {in.data(), in.size(), 0};
    ZSTD_outBuffer out = {to, bytes, 0};
    const size_t left = ZSTD_decompressStream(context_.get(), &out, &from);
    take(from.pos);
    got = out.pos;
    flushes_ = out.pos == bytes;
    at_start_ = left == 0;
    if (at_start_) flushes_ = false;
    next_ = std::max<size_t>(left, 1);
    return left;
  }

  // False at the end of the file.
  bool begin_frame(const File& raw) {
    std::optional<ZstdHeader> header;
    for (;;) {
      want(raw, kZstdHeader);
      if (input().empty()) return false;
      header = zstd_header(input());
      const bool begins = compression_of(input()) == Compression::zstd || may_be_compressed(input());
      if (!header && begins && input().size() < kZstdHeader) throw truncated();
      if (!header) {
        throw error("expected another zstd frame or the end",
                    "is the file damaged, or was something else added to it?");
      }
      if (!header->skippable) {
        check_header(*header);
        break;
      }
      pass(raw, header->bytes);
    }
    begin_member();
    constexpr size_t kBlockHeader = 3;
    ZSTD_DCtx_reset(context_.get(), ZSTD_reset_session_only);
    at_start_ = flushes_ = false;
    // No more: the library decodes a frame that it sees as a whole at once, checksum and all.
    next_ = static_cast<size_t>(header->bytes) + kBlockHeader;
    return true;
  }

  void check_header(const ZstdHeader& header) const {
    if (header.dictionary) {
      throw error("a zstd frame needs a dictionary", "decompress the file with it first: zstd -d -D DICTIONARY");
    }
    if (header.window > bytes_.most_window && header.text.value_or(UINT64_MAX) > bytes_.most_window) {
      throw error(cat("a zstd frame needs a window of ", std::min(header.window, header.text.value_or(UINT64_MAX)),
                      " bytes, at most ", bytes_.most_window, " are allowed here;"),
                  "compress the file again, without --long and --ultra");
    }
  }

  const std::unique_ptr<ZSTD_DCtx, Free> context_;
  bool at_start_ = true;
  bool flushes_ = false;  // the library may hold more text
  size_t next_ = 0;       // how many bytes it wants next
};

}  // namespace

std::unique_ptr<TextDecoder> make_zstd_decoder() { return std::make_unique<ZstdDecoder>(); }

}  // namespace millrace

#else

namespace millrace {

std::unique_ptr<TextDecoder> make_zstd_decoder() { return nullptr; }

}  // namespace millrace

#endif
