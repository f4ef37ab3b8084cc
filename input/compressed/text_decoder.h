// TextDecoder: reads the text of a compressed file in order, from a TextPoint on. Used by one thread at a time; it
// keeps its memory when it goes to another place or to another file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/export.h"
#include "millrace/input/compressed/compression.h"
#include "millrace/input/files/file_system.h"

namespace millrace {

// A place in a compressed file from which its text can be read: where a member or a frame begins, or, with a window,
// within a gzip member.
struct TextPoint {
  uint64_t text = 0;                 // offset in the text
  uint64_t at = 0;                   // offset in the file
  std::optional<bool> at_line = {};  // whether the byte before it ends a line, if that is known

  std::shared_ptr<const std::string> window = nullptr;  // the text before, as much as may be referred to
  uint8_t bits = 0;     // the highest bits of the file's byte before `at` that are still to be read
  uint32_t crc = 0;     // checksum of the member's text before
  uint32_t length = 0;  // its length, modulo 2^32
};

// Where the compressed bytes are: bytes [begin, end) of a file.
struct CompressedBytes {
  std::shared_ptr<const FileEntry> entry = nullptr;
  uint64_t begin = 0;
  uint64_t end = 0;          // StreamFile::kUnknownSize: where reading ends
  uint64_t most_window = 0;  // of zstd; a frame that needs more is a DataError
};

class MILLRACE_EXPORT TextDecoder {
 public:
  // So many compressed bytes are read at a time, at most.
  static constexpr size_t kReadBytes = 65536;

  explicit TextDecoder(Compression how) : kind_(how) {}
  virtual ~TextDecoder() = default;

  Compression kind() const { return kind_; }
  // Goes to a point of a file.
  void start(const CompressedBytes& bytes, const TextPoint& from);
  // Reads up to `bytes` bytes of text, at least one; 0 at the end of the file. `raw` is the file. Throws DataError with
  // the path, which says at which byte the file is wrong, after all text before; IoError. After an error only start()
  // is of use.
  size_t read(const File& raw, char* to, size_t bytes);
  // Reads on, a little, on the way to text offset `offset`. False if it is there, or at the end of the text.
  bool skip(const File& raw, uint64_t offset);
  // Decodes the members or frames that `compressed` consists of. False if it cannot, or if their text has another
  // length than `to`. Forgets where the decoder was.
  virtual bool decode_whole(std::span<const char> compressed, std::span<char> to) = 0;

  // Offset of the next byte of text.
  uint64_t text() const { return text_; }
  // Offset in the file after what was used up.
  uint64_t at() const { return at_; }
  // Where the last member or frame began, or where start() went to.
  const TextPoint& last_start() const { return last_start_; }
  // Whether here, within a member, is a place to go on from later: the end of a block of gzip.
  virtual bool at_point() const { return false; }
  // REQUIRES: at_point().
  virtual TextPoint point() const { return last_start_; }
  // Whether the text up to here is what it was when `later` was made, by its checksum. REQUIRES: later.window.
  virtual bool agrees_with(const TextPoint&) const { return false; }
  // Whether an error has ended it.
  bool failed() const { return failure_ != nullptr; }
  std::vector<char>& scratch() { return scratch_; }

 protected:
  virtual void start_at(const TextPoint& from) = 0;
  virtual size_t decode(const File& raw, char* to, size_t bytes) = 0;

  // Bytes of the file that were read, from at() on.
  std::string_view input() const { return {input_.data() + begin_, end_ - begin_}; }
  // Says that a member or a frame begins at at().
  void begin_member() { last_start_ = {.text = text_, .at = at_, .at_line = at_line_}; }
  // Makes input() hold `bytes` bytes, or all that are left in the file. REQUIRES: bytes <= kReadBytes.
  void want(const File& raw, size_t bytes);
  void take(size_t bytes);
  // Goes past `bytes` bytes; DataError if the file has fewer.
  void pass(const File& raw, uint64_t bytes);
  DataError error(std::string_view what, std::string_view hint = {}) const;
  DataError truncated() const;

  CompressedBytes bytes_;
  std::optional<bool> at_line_;  // of the byte before text()

 private:
  const Compression kind_;
  uint64_t text_ = 0, at_ = 0;
  TextPoint last_start_;
  std::vector<char> input_;
  size_t begin_ = 0, end_ = 0;  // of input_
  size_t ahead_ = 0;            // how much was read last
  std::exception_ptr failure_;
  std::vector<char> scratch_;
};

// Throws ConfigError if the build has no library for it.
MILLRACE_EXPORT std::unique_ptr<TextDecoder> make_decoder(Compression kind, const std::string& path);
// Null without the library.
std::unique_ptr<TextDecoder> make_gzip_decoder(Compression kind);  // or of deflate
std::unique_ptr<TextDecoder> make_zstd_decoder();

}  // namespace millrace
