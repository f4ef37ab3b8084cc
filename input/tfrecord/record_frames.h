// TFRecord files: records of bytes, one after another, each between its length and checksums:
//
//   8 bytes   the length of the record, the lowest byte first
//   4 bytes   a checksum of these eight
//             the record's bytes
//   4 bytes   a checksum of them
//
// To the graph such a file is text, and the number of a record is its line: a unit that begins anywhere in the file
// guesses where a record begins, and the stream checks the guess (Chunk::first_record).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "millrace/input/csv/file_text.h"
#include "millrace/input/op.h"
#include "millrace/input/rows/chunk.h"

namespace millrace {

struct TfRecordFormat final : TextFormat {
  // No record may have more bytes.
  static constexpr uint64_t kMost = uint64_t{1} << 30;

  explicit TfRecordFormat(uint64_t most) : max_record_bytes(most) {}
  std::string_view name() const override { return "TFRecord"; }

  const uint64_t max_record_bytes;
};

inline constexpr size_t kFrameHead = 12, kFrameTail = 4;

// The length of the record that begins with these bytes; no value if there are fewer than kFrameHead, or if the
// checksum is another.
std::optional<uint64_t> record_length(std::string_view head);

// Goes to the first place before the text's limit where a record seems to begin, else to the limit. It is a guess: a
// record may have other records in its bytes.
void skip_to_record(FileText& text, const TfRecordFormat& format);

// Takes one record after another from a chunk's text.
//
//   RecordFrames records(*chunk.text, format);
//   while (records.next()) use(records.record());
class RecordFrames {
 public:
  // The arguments outlive it.
  RecordFrames(ChunkText& text, const TfRecordFormat& format) : text_(text), format_(format) {}

  // Goes to the next record that begins before the text's limit. False if there is none. Throws DataError, without a
  // place, if what follows is no record, so that nobody knows where the next one begins; IoError.
  bool next();
  // Valid until the next call of next().
  std::string_view record() const { return text_.bytes().substr(at_ + kFrameHead, size_ - kFrameHead - kFrameTail); }
  // Whether the record has the bytes that it had when it was written.
  bool is_intact() const;
  // Where it begins in the file, and its bytes there.
  uint64_t offset() const { return text_.offset() + at_; }
  size_t size() const { return size_; }
  // The file offset after everything that next() passed.
  uint64_t end_offset() const { return offset() + size_; }

 private:
  bool has(size_t bytes);

  ChunkText& text_;
  const TfRecordFormat& format_;
  size_t at_ = 0, size_ = 0;  // of the record in the text
};

}  // namespace millrace
