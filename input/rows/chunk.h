// Chunk: a run of consecutive bytes or rows on its way through the transforms, with its sequence number and origin.
//
// A source makes Units: each says what to do next, and is made without decoding anything. A task turns a Unit into a
// Chunk: it reads bytes, decodes rows, and attaches notes. Only chunks cross threads; each is used by one thread at a
// time and reused afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/core/export.h"
#include "millrace/input/files/file_system.h"
#include "millrace/input/rows/row_block.h"

namespace millrace {

struct StreamPart;

// The piece of work from which a task makes a chunk.
struct Unit {
  std::shared_ptr<const FileEntry> file = nullptr;  // null for sources without files
  uint64_t begin = 0, end = 0;                      // bytes [begin, end) of the file, or row numbers
  uint32_t source = 0, pass = 0;
  uint32_t file_ordinal = 0;  // how many files of the pass came before this one
  bool exact = false;         // `begin` is the start of a record (first range, a restore, a second try)
  uint64_t line = 0;          // line of `begin` if exact and known (1 at the start of a file), else 0
  std::shared_ptr<const StreamPart> part = nullptr;  // for a stream: keeps the unit's bytes
};

// The bytes of a chunk, from the start of its first record on. Records that start before limit() belong to the chunk;
// the last of them may reach beyond limit(), see extend(). The producer chooses the first record. If a range is not
// exact, the first record starts after the first line end that is at or after the byte before the range. The stream
// checks the choice.
class MILLRACE_EXPORT ChunkText {
 public:
  virtual ~ChunkText() = default;
  std::string_view bytes() const { return {data_, size_}; }
  // Offset in the file of bytes()[0].
  uint64_t offset() const { return offset_; }
  // Records that start at this file offset or later belong to the next chunk.
  uint64_t limit() const { return limit_; }
  // Whether bytes() reaches the end of the file.
  bool at_end() const { return at_end_; }
  // Reads on: bytes() grows (and may move). REQUIRES: !at_end(). Throws IoError.
  virtual void extend() = 0;
  // Lets go of the file: nothing more is read until the next range.
  virtual void close() noexcept {}

 protected:
  const char* data_ = nullptr;
  size_t size_ = 0;
  uint64_t offset_ = 0, limit_ = 0;
  bool at_end_ = false;
};

// A record that was left out because of its faults.
struct BadRow {
  Place place;
  std::string reason;
  std::string field;  // the field's name, if one field is at fault
  std::string text;   // its text, as it stands in the data
};

// Something that happened at a row. It takes effect when the consumer passes that row.
struct MILLRACE_EXPORT Note {
  enum class Kind : uint8_t {
    error,    // `error` is raised when row `row` would be used; nothing comes after it
    bad_row,  // the record at `place` was left out because of its faults (on_bad_row: skip)
    dropped,  // `count` rows were left out for a named cause; `text` is the cause ("filter")
    print,    // `text` is to be given to the log
  };
  Kind kind = Kind::error;
  int64_t row = 0;  // the note stands before this row of the chunk
  uint64_t count = 1;
  std::exception_ptr error = nullptr;  // an Error without a place gets `place`, or else the place of `id`
  std::optional<RowId> id = {};        // the row at fault, if there is one
  Place place = Place();               // in a text chunk its line is relative, see Chunk
  std::string text = {};               // bad_row: the reason
  uint64_t limit = UINT64_MAX;  // bad_row: how many the whole run may have (max_bad_rows); one more is a DataError
  std::string field = {};       // bad_row: the field's name, if one field is at fault
  std::string value = {};       // bad_row: its text, as it stands in the data
  static constexpr uint32_t kUnsigned = UINT32_MAX;
  uint32_t transform = kUnsigned;  // which transform of the chain attached it; set by the graph
};

// Memory that a task keeps from chunk to chunk. Every running task has a Workspace of its own, so nothing in it is
// shared.
class Workspace {
 public:
  // The T of `owner` (a transform's `this`); the first call makes it with T's default constructor.
  template <class T>
  T& get(const void* owner) {
    for (auto& [key, value] : items_) {
      if (key == owner) return *static_cast<T*>(value.get());
    }
    items_.emplace_back(owner, std::make_shared<T>());
    return *static_cast<T*>(items_.back().second.get());
  }

 private:
  std::vector<std::pair<const void*, std::shared_ptr<void>>> items_;
};

class MILLRACE_EXPORT Chunk {
 public:
  Unit unit;
  // Text port: the bytes. When the task ends, the stream takes `text` out of the chunk and gives it to the chunk of
  // another task, where the producer reuses its memory.
  std::unique_ptr<ChunkText> text;
  RowBlock rows;            // rows port
  RowBlock spare;           // a transform that changes the fields writes here and calls swap_rows()
  std::vector<Note> notes;  // in order of their rows

  // Text: how it was cut into records. The producer sets first_record and counts the lines that it consumes itself (a
  // header); the transform that cuts adds its own lines and sets end_record. If a unit is not exact, its first_record
  // is a guess. The stream compares it with the end_record of the chunk before. If they differ, the stream runs the
  // unit again from that end_record, exact: a wrong guess costs time, never a row.
  //   first_record  unit.begin if exact; else where the first record is assumed to start; unit.end or more: none starts
  //   end_record    where the next chunk must begin: after the last record, blank line or comment that starts before
  //                 unit.end; first_record if none starts there
  //   lines         line ends in [first_record, end_record); an unterminated last line counts as one
  // Until the stream hands a text chunk on, RowId::line, RowId::next_line and the lines of notes are relative: 0 is the
  // line of first_record. Sources without text set the final numbers themselves.
  uint64_t first_record = 0;
  uint64_t end_record = 0;
  uint64_t lines = 0;

  void swap_rows() { std::swap(rows, spare); }
  // Prepares for another unit; keeps memory.
  void reset(const Unit& next);
  // Adds a note after the notes of its row and of the rows before.
  void add(Note note);
  // Adds an error, not null, before row `row`, which is at fault; `place`, if given, says more exactly where.
  void fail(int64_t row, std::exception_ptr error, Place place = {});
  // Adds the error after all rows.
  void fail(std::exception_ptr error, Place place = {}) { fail(rows.size(), std::move(error), std::move(place)); }
  // Leaves out the rows whose flag is 0, with notes that name `cause`; without a cause other notes must tell of them.
  // Other notes keep their place between the rows. REQUIRES: keep.size() == rows.size(); called from
  // Transform::apply().
  void keep_rows(std::span<const uint8_t> keep, std::string_view cause);

  // The running task's memory. REQUIRES: called from Transform::apply().
  Workspace& work() const { return *work_; }
  void set_work(Workspace* work) { work_ = work; }

 private:
  Workspace* work_ = nullptr;
};

}  // namespace millrace
