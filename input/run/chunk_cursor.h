// ChunkCursor: hands out the rows of one chunk after another, and lets each note take effect when its row is passed.
//
// Serial. It refers to the chunk that it was given, to the chain that made it and to the log; they outlive its use.
#pragma once

#include <cstdint>
#include <functional>

#include "millrace/input/op.h"
#include "millrace/input/run/note_log.h"
#include "millrace/input/run/transform_chain.h"

namespace millrace {

class ChunkCursor {
 public:
  // `place` says where a row came from, for notes that name a row and no place.
  ChunkCursor(const TransformChain& chain, NoteLog& log, std::function<Place(const RowId&)> place)
      : chain_(chain), log_(log), place_(std::move(place)) {}

  // Goes to the start of `chunk`. `first_line`: the number of the line that its relative lines count from, 0 where its
  // lines are absolute. The ids of its rows are made absolute.
  void enter(Chunk& chunk, uint64_t first_line);
  void leave() { chunk_ = nullptr; }
  bool inside() const { return chunk_ != nullptr; }

  // The next rows, at most `at_most`, up to the next note; none at the end of the chunk, whose last notes then have
  // taken effect. Throws the error that stands before the next row; the cursor stays there.
  RowSpan next(int64_t at_most);

  // The same record by record. A record is a row, or one that was left out: a bad one, or a dropped one. What stands
  // before the record takes effect with it.
  enum class Record : uint8_t { none, row, left_out };
  Record next_record() { return pass_record(true); }
  // Goes behind a record without letting any note take effect, errors apart.
  Record skip_record() { return pass_record(false); }

  Chunk& chunk() const { return *chunk_; }
  int64_t rows_passed() const { return next_row_; }
  // Goes behind the first `rows` rows and the notes before the last of them, without letting these take effect.
  void skip(int64_t rows);

 private:
  Record pass_record(bool effective);
  void pass(const Note& note);
  Place place_of(const Note& note) const;

  const TransformChain& chain_;
  NoteLog& log_;
  std::function<Place(const RowId&)> place_;
  Chunk* chunk_ = nullptr;
  uint64_t first_line_ = 0;
  int64_t next_row_ = 0;
  size_t next_note_ = 0;
  uint64_t note_rows_ = 0;  // of the next note: how many of the rows that it drops were passed
};

}  // namespace millrace
