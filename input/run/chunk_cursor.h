// ChunkCursor: hands out the rows of one chunk, then of the next, and lets each note take effect when its row is
// passed.
//
// Serial. It refers to the chunk that it was given, to the chain that made the chunk, and to the log; all of them
// outlive its use.
#pragma once

#include <cstdint>
#include <functional>

#include "millrace/input/run/note_log.h"
#include "millrace/input/run/transform_chain.h"

namespace millrace {

class ChunkCursor {
 public:
  // `place` says where a row came from, for notes that name a row but no place.
  ChunkCursor(const TransformChain& chain, NoteLog& log, std::function<Place(const RowId&)> place)
      : chain_(chain), log_(log), place_(std::move(place)) {}

  // Goes to the start of `chunk`. `first_line` is the number of the line that its relative lines count from; 0: its
  // lines are absolute. Makes the ids of its rows absolute.
  void enter(Chunk& chunk, uint64_t first_line);
  void leave() { chunk_ = nullptr; }
  bool inside() const { return chunk_ != nullptr; }

  // The next rows, at most `at_most`, up to the next note. None at the end of the chunk: its last notes have then taken
  // effect. Throws the error that stands before the next row; the cursor stays there.
  RowSpan next(int64_t at_most);
  // Whether next() would give a row or throw. If not, the last notes of the chunk have taken effect.
  bool has_next();

  // The same, record by record. A record is a row, or a bad or dropped record that was left out. Notes before the
  // record take effect with it; if it is not `effective`, only errors do.
  enum class Record : uint8_t { none, row, left_out };
  Record next_record(bool effective = true);

  Chunk& chunk() const { return *chunk_; }
  int64_t rows_passed() const { return next_row_; }
  // Goes past the first `rows` rows; the notes before the last of these rows do not take effect. REQUIRES: the chunk
  // has so many.
  void skip(int64_t rows);

 private:
  bool stands_at_note() const {
    return next_note_ < chunk_->notes.size() && chunk_->notes[next_note_].row <= next_row_;
  }
  void pass(const Note& note);
  Place place_of(const Note& note) const;

  const TransformChain& chain_;
  NoteLog& log_;
  std::function<Place(const RowId&)> place_;
  Chunk* chunk_ = nullptr;
  uint64_t first_line_ = 0;
  int64_t next_row_ = 0;
  size_t next_note_ = 0;
  uint64_t note_rows_ = 0;  // how many of the rows that the next note drops were passed
};

}  // namespace millrace
