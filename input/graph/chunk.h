// Chunk: a run of consecutive bytes or rows on its way through the transforms, with its sequence number and origin.
//
// A source makes Units: what to do next, decided without decoding. A task turns a Unit into a Chunk: reads bytes, decodes
// rows, and attaches notes. Only chunks cross threads; each is used by one thread at a time and reused afterwards.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/input/graph/row_block.h"

namespace millrace {

// A file of the graph, as it was when it was matched. Constant; shared by whoever works on it.
struct FileEntry {
  std::string path;   // as opened, for messages
  uint32_t index = 0;  // its number in the source
  uint64_t size = 0;
};

// What a task shall make a chunk of.
struct Unit {
  std::shared_ptr<const FileEntry> file;  // null for sources without files
  uint64_t begin = 0, end = 0;            // bytes [begin, end) of the file, or row numbers
  uint32_t source = 0, pass = 0;
  uint32_t file_ordinal = 0;  // how many files of the pass came before this one
  bool exact = false;      // `begin` is the start of a record (first range, a restore, a second try)
  uint64_t line = 0;       // line of `begin` when exact and known (1 at the start of a file), else 0
};

// The bytes of a chunk from the start of its first record on. Records that start before `limit` belong to it; the last
// may reach beyond, see extend(). The producer chooses the first record (for a range that is not exact: what follows the
// first line end at or behind the byte before it); the stream checks the choice.
class ChunkText {
 public:
  virtual ~ChunkText() = default;
  std::string_view bytes() const { return {data_, size_}; }
  // Offset in the file of bytes()[0].
  uint64_t offset() const { return offset_; }
  // Records that start at this file offset or later belong to the next chunk.
  uint64_t limit() const { return limit_; }
  // Whether bytes() reach the end of the file.
  bool at_end() const { return at_end_; }
  // Reads on: bytes() grow (and may move). REQUIRES: !at_end(). Throws IoError.
  virtual void extend() = 0;

 protected:
  const char* data_ = nullptr;
  size_t size_ = 0;
  uint64_t offset_ = 0, limit_ = 0;
  bool at_end_ = false;
};

// Something that happened at a row; takes effect when the consumer passes it.
struct Note {
  enum class Kind : uint8_t {
    error,     // `error` is raised when row `row` would be used; nothing comes behind it
    bad_row,   // a record was left out because of its faults (on_bad_row: skip); `text` says why, `place` where
    dropped,   // `count` rows were left out by name (filter)
    print,     // `text` is to be given to the log
  };
  Kind kind = Kind::error;
  int64_t row = 0;  // before which row of the chunk
  uint64_t count = 1;
  std::exception_ptr error;
  Place place;      // lines count from the chunk's first line until the chunk is handed on
  std::string text;
  uint64_t limit = UINT64_MAX;  // bad_row: how many the whole run may have (max_bad_rows); one more is a DataError
};

class Chunk {
 public:
  Unit unit;
  // text port: the bytes. When the task ends the stream takes it out, and gives it to another task's chunk, where the
  // producer reuses its memory.
  std::unique_ptr<ChunkText> text;
  RowBlock rows;                    // rows port
  RowBlock spare;                   // a transform that changes the fields writes here and calls swap_rows()
  std::vector<Note> notes;          // in order of their rows

  // How the text was cut into records: what the stream checks from chunk to chunk. The producer sets first_record and
  // counts the lines that it consumes itself (a header); the decoder adds its own and sets end_record.
  uint64_t first_record = 0;  // file offset where the first record was taken to start; unit.end or more: none does
  uint64_t end_record = 0;    // file offset behind the last record
  uint64_t lines = 0;         // line ends between the two

  void swap_rows() { std::swap(rows, spare); }
  // Prepares for another unit; keeps memory.
  void reset(const Unit& next);
  // Attaches an error before the rows that come now; what the caller adds behind it is ignored.
  void fail(std::exception_ptr error) {
    notes.push_back({.kind = Note::Kind::error, .row = rows.size(), .error = std::move(error), .place = {}, .text = {}});
  }
};

}  // namespace millrace
