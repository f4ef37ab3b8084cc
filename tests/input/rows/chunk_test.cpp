#include "millrace/input/rows/chunk.h"

#include <gtest/gtest.h>

#include "tests/input/graph/fake_ops.h"

namespace millrace {
namespace {

using fake::value;

void fill(Chunk& chunk, int64_t rows) {
  chunk.rows.configure(fake::integer_rows(), rows);
  chunk.rows.resize(rows);
  for (int64_t row = 0; row < rows; ++row) {
    value(chunk.rows, row) = row;
    chunk.rows.id(row) = {.offset = static_cast<uint64_t>(row), .line = static_cast<uint64_t>(row)};
  }
}

std::vector<int64_t> values(const Chunk& chunk) {
  std::vector<int64_t> out;
  for (int64_t row = 0; row < chunk.rows.size(); ++row) out.push_back(value(chunk.rows, row));
  return out;
}

Note note_at(int64_t row, std::string text) { return {.kind = Note::Kind::print, .row = row, .text = std::move(text)}; }

TEST(Chunk, ResetPreparesForAUnitAndKeepsMemory) {
  Chunk chunk;
  fill(chunk, 10);
  chunk.add(note_at(3, "a"));
  const int64_t capacity = chunk.rows.capacity();
  Unit unit;
  unit.begin = 700;
  unit.end = 800;
  chunk.reset(unit);
  EXPECT_EQ(chunk.unit.end, 800u);
  EXPECT_EQ(chunk.rows.size(), 0);
  EXPECT_EQ(chunk.rows.capacity(), capacity);
  EXPECT_TRUE(chunk.notes.empty());
  EXPECT_EQ(chunk.first_record, 700u);
  EXPECT_EQ(chunk.end_record, 700u);
  EXPECT_EQ(chunk.lines, 0u);
}

TEST(Chunk, KeepsNotesInOrderOfRowsAndOfAddition) {
  Chunk chunk;
  fill(chunk, 10);
  chunk.add(note_at(5, "a"));
  chunk.add(note_at(2, "b"));
  chunk.add(note_at(5, "c"));
  chunk.add(note_at(0, "d"));
  std::string order;
  for (const Note& note : chunk.notes) order += note.text;
  EXPECT_EQ(order, "dbac");
}

TEST(Chunk, ErrorsNameTheRowAtFault) {
  Chunk chunk;
  fill(chunk, 4);
  chunk.fail(2, std::make_exception_ptr(DataError("bad")));
  chunk.fail(std::make_exception_ptr(DataError("behind")));
  ASSERT_EQ(chunk.notes.size(), 2u);
  EXPECT_EQ(chunk.notes[0].row, 2);
  ASSERT_TRUE(chunk.notes[0].id.has_value());
  EXPECT_EQ(chunk.notes[0].id->offset, 2u);
  EXPECT_EQ(chunk.notes[1].row, 4);
  EXPECT_FALSE(chunk.notes[1].id.has_value());
}

TEST(Chunk, LeavesOutRowsAndMovesNotesAlong) {
  Workspace work;
  Chunk chunk;
  chunk.set_work(&work);
  fill(chunk, 8);
  chunk.add(note_at(0, "start"));
  chunk.add(note_at(3, "middle"));
  chunk.add(note_at(8, "end"));
  chunk.keep_rows(std::vector<uint8_t>{0, 0, 1, 0, 1, 1, 0, 0}, "filter");
  EXPECT_EQ(values(chunk), (std::vector<int64_t>{2, 4, 5}));
  EXPECT_EQ(chunk.rows.id(1).offset, 4u);
  std::string story;
  for (const Note& note : chunk.notes) {
    story += cat(note.row, note.kind == Note::Kind::dropped ? cat("-", note.count, note.text) : note.text, ' ');
  }
  EXPECT_EQ(story, "0start 0-2filter 1middle 1-1filter 3-2filter 3end ");
}

TEST(Chunk, LeavesOutRowsOfWhichOtherNotesTell) {
  Workspace work;
  Chunk chunk;
  chunk.set_work(&work);
  fill(chunk, 4);
  chunk.add({.kind = Note::Kind::bad_row, .row = 1, .text = "one"});
  chunk.add({.kind = Note::Kind::bad_row, .row = 2, .text = "two"});
  chunk.keep_rows(std::vector<uint8_t>{1, 0, 0, 1}, {});
  EXPECT_EQ(values(chunk), (std::vector<int64_t>{0, 3}));
  ASSERT_EQ(chunk.notes.size(), 2u);
  EXPECT_EQ(chunk.notes[0].row, 1);
  EXPECT_EQ(chunk.notes[1].row, 1);
  EXPECT_EQ(chunk.notes[1].text, "two");
}

TEST(Chunk, KeepingEveryRowChangesNothing) {
  Workspace work;
  Chunk chunk;
  chunk.set_work(&work);
  fill(chunk, 3);
  chunk.keep_rows(std::vector<uint8_t>{1, 1, 1}, "filter");
  EXPECT_EQ(values(chunk), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_TRUE(chunk.notes.empty());
}

TEST(Workspace, KeepsOneObjectAnOwner) {
  Workspace work;
  const int owners[2] = {};
  work.get<std::vector<int>>(&owners[0]).assign(3, 1);
  work.get<std::string>(&owners[1]) = "text";
  EXPECT_EQ(work.get<std::vector<int>>(&owners[0]).size(), 3u);
  EXPECT_EQ(work.get<std::string>(&owners[1]), "text");
}

}  // namespace
}  // namespace millrace
