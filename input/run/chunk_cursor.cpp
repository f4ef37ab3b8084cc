#include "millrace/input/run/chunk_cursor.h"

#include <algorithm>

namespace millrace {

void ChunkCursor::enter(Chunk& chunk, uint64_t first_line) {
  chunk_ = &chunk;
  first_line_ = first_line;
  next_row_ = 0;
  next_note_ = 0;
  note_rows_ = 0;
  if (first_line == 0) return;
  for (int64_t row = 0; row < chunk.rows.size(); ++row) {
    RowId& id = chunk.rows.id(row);
    id.line += first_line;
    id.next_line += first_line;
  }
}

RowSpan ChunkCursor::next(int64_t at_most) {
  const std::vector<Note>& notes = chunk_->notes;
  for (; stands_at_note(); ++next_note_) pass(notes[next_note_]);
  int64_t end = chunk_->rows.size();
  if (next_note_ < notes.size()) end = std::min(end, notes[next_note_].row);
  const RowSpan span = {&chunk_->rows, next_row_, std::min(at_most, end - next_row_)};
  next_row_ += span.count;
  return span;
}

bool ChunkCursor::has_next() {
  for (; stands_at_note(); ++next_note_) {
    const Note& note = chunk_->notes[next_note_];
    if (note.kind == Note::Kind::error) return true;
    pass(note);
  }
  return next_row_ < chunk_->rows.size();
}

ChunkCursor::Record ChunkCursor::next_record(bool effective) {
  const std::vector<Note>& notes = chunk_->notes;
  for (; stands_at_note(); ++next_note_) {
    const Note& note = notes[next_note_];
    if (note.kind == Note::Kind::dropped) {
      if (effective) log_.drop(note.text, 1);
      if (++note_rows_ == note.count) {
        note_rows_ = 0;
        ++next_note_;
      }
      return Record::left_out;
    }
    if (effective || note.kind == Note::Kind::error) pass(note);
    if (note.kind == Note::Kind::bad_row) {
      ++next_note_;
      return Record::left_out;
    }
  }
  if (next_row_ == chunk_->rows.size()) return Record::none;
  ++next_row_;
  return Record::row;
}

void ChunkCursor::skip(int64_t rows) {
  next_row_ = rows;
  while (next_note_ < chunk_->notes.size() && chunk_->notes[next_note_].row < rows) ++next_note_;
}

void ChunkCursor::pass(const Note& note) {
  const Place place = place_of(note);
  if (note.kind == Note::Kind::error) raise_copy(note.error, place);
  log_.pass(note, place, chain_.links());
}

Place ChunkCursor::place_of(const Note& note) const {
  if (note.place.known()) {
    Place place = note.place;
    place.line += static_cast<int64_t>(first_line_);
    return place;
  }
  if (!note.id) return {};
  RowId id = *note.id;
  id.line += first_line_;
  return place_(id);
}

}  // namespace millrace
