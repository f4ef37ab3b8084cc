// FileText: the bytes of one range of a file, in its own memory, which is used again for the next range; and how to
// pass what comes before the first record of a file.
//
// One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "millrace/core/context.h"
#include "millrace/input/csv/csv_dialect.h"
#include "millrace/input/csv/record_scanner.h"
#include "millrace/input/files/file_system.h"
#include "millrace/input/files/open_files.h"
#include "millrace/input/rows/chunk.h"

namespace millrace {

class FileText final : public ChunkText {
 public:
  // Takes the memory that ranges of up to `bytes` bytes need, so that start() allocates nothing for them.
  void reserve(uint64_t bytes);
  // Waits until few enough others have a file open. This FileText may then have one open until close().
  void take_turn();
  // Reads [begin, end) of the unit's file, and a little more, so that the last record is likely to be whole. If the
  // unit is not exact, also reads the byte before. (A part of a stream or of compressed text mostly begins and ends at
  // a line, so it needs neither.) Then goes to the first record of the range. `inflated`: the file is compressed, and
  // `file` gives its text. Throws IoError; DataError if the compressed data before the first record are wrong.
  void start(std::shared_ptr<const File> file, const Unit& unit, bool inflated = false);
  // Becomes empty, because the file cannot be read.
  void fail(const Unit& unit);
  // Doubles the number of bytes held beyond the limit.
  void extend() override;
  void close() noexcept override;
  // Drops the first `bytes` bytes. REQUIRES: bytes <= bytes().size().
  void skip(size_t bytes);

  // Memory for code that looks at the text before the decoder does.
  ScannedRecord& scratch() { return scratch_; }

 private:
  void read(uint64_t to, uint64_t at_least);
  void make_room(size_t bytes);
  void skip_to(uint64_t to);
  void skip_to_record();

  std::optional<ReadingTurn> turn_;  // declared before file_, so that the file is closed before the turn ends
  std::shared_ptr<const File> file_;
  std::shared_ptr<const FileEntry> entry_;
  std::vector<char> buffer_;
  uint64_t end_ = 0;           // file offset after the bytes that were read
  bool unknown_size_ = false;  // of the text: it ends where no more can be read
  uint64_t slack_ = 0;         // how much to read on at least
  ScannedRecord scratch_;
};

// Opens the file of the chunk's unit by `open`, and makes sure that the chunk's text is a FileText, to be started with
// that file. Null if it cannot be opened: that is noted then. A file that has grown is noted, too.
std::shared_ptr<const File> open_text(Chunk& chunk, FunctionRef<OpenedFile()> open);

// The start of a file, before its first record: a byte order mark, skipped lines, the header.
struct Preamble {
  uint64_t lines = 0;        // line ends in the preamble
  bool has_header = false;   // text.scratch() holds the header; also false if the file ends before it
  uint64_t header_line = 0;  // line ends before the header
};

// Passes a line, whatever is in it; the end of the file ends a line, too. REQUIRES: there is a line.
void skip_line(FileText& text);

// Passes the preamble that `text` starts with; the preamble has a header only if `header` is true. After the call,
// `text` starts after the preamble. Throws DataError for a header that cannot be cut into fields; IoError.
Preamble pass_preamble(FileText& text, bool header, const CsvDialect& dialect, const FileEntry& file);

}  // namespace millrace
