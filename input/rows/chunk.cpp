#include "millrace/input/rows/chunk.h"

#include <algorithm>

namespace millrace {

void Chunk::reset(const Unit& next) {
  unit = next;
  rows.clear();
  spare.clear();
  notes.clear();
  first_record = next.begin;
  end_record = next.begin;
  lines = 0;
}

void Chunk::add(Note note) {
  const auto behind = std::ranges::upper_bound(notes, note.row, {}, &Note::row);
  notes.insert(behind, std::move(note));
}

void Chunk::fail(int64_t row, std::exception_ptr error, Place place) {
  Note note = {.row = row, .error = std::move(error), .place = std::move(place)};
  if (row < rows.size()) note.id = rows.id(row);
  add(std::move(note));
}

void Chunk::keep_rows(std::span<const uint8_t> keep, std::string_view cause) {
  static constexpr char kOwner = 0;
  std::vector<Note>& moved = work().get<std::vector<Note>>(&kOwner);
  moved.clear();
  size_t next_note = 0;
  int64_t kept = 0;
  uint64_t dropped = 0;
  const auto tell_dropped = [&] {
    if (dropped == 0) return;
    const uint64_t count = std::exchange(dropped, 0);
    if (cause.empty()) return;
    moved.push_back({.kind = Note::Kind::dropped, .row = kept, .count = count, .text = std::string(cause)});
  };
  for (int64_t row = 0; row <= rows.size(); ++row) {
    for (; next_note < notes.size() && notes[next_note].row <= row; ++next_note) {
      tell_dropped();
      moved.push_back(std::move(notes[next_note]));
      moved.back().row = kept;
    }
    if (row == rows.size()) break;
    if (keep[static_cast<size_t>(row)] == 0) {
      ++dropped;
      continue;
    }
    tell_dropped();
    if (kept != row) rows.copy_row(rows, row, kept);
    ++kept;
  }
  tell_dropped();
  rows.resize(kept);
  notes.swap(moved);
}

}  // namespace millrace
