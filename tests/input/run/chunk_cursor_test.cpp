#include "millrace/input/run/chunk_cursor.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/input/graph/fake_ops.h"

namespace millrace {
namespace {

using fake::value;

class ChunkCursorTest : public testing::Test {
 protected:
  ChunkCursorTest() {
    log_.set_events(&events_);
    chunk_.rows.configure(fake::integer_rows(), 10);
    chunk_.rows.resize(10);
    for (int64_t row = 0; row < 10; ++row) {
      value(chunk_.rows, row) = row;
      chunk_.rows.id(row) = {.line = static_cast<uint64_t>(2 * row), .next_line = static_cast<uint64_t>(2 * row + 2)};
    }
  }
  void note(Note::Kind kind, int64_t row, std::string text = "") {
    Note made;
    made.kind = kind;
    made.row = row;
    made.text = std::move(text);
    chunk_.add(std::move(made));
  }
  // What comes out of one next(), as "begin+count".
  std::string take(int64_t at_most) {
    const RowSpan span = cursor_.next(at_most);
    return span ? cat(span.begin, '+', span.count) : std::string("end");
  }

  // The records that are left: "3" for a row, "-" for one that was left out; silent ones without effect.
  std::string records(int silent = 0) {
    std::string out;
    for (;;) {
      const ChunkCursor::Record record = cursor_.next_record(silent-- <= 0);
      if (record == ChunkCursor::Record::none) return out;
      out += record == ChunkCursor::Record::row ? cat(cursor_.rows_passed() - 1) : "-";
    }
  }
  uint64_t dropped() const {
    std::vector<Dropped> out;
    log_.add_dropped(out);
    return out.empty() ? 0 : out.front().rows;
  }

  std::vector<std::string> told_;
  StreamEvents events_ = {.on_bad_row = [this](const BadRow& bad) { told_.push_back(bad.place.text()); },
                          .on_print = [this](std::string_view text) { told_.emplace_back(text); }};
  TransformChain chain_{PortType::rows, {}};
  NoteLog log_;
  Chunk chunk_;
  ChunkCursor cursor_{chain_, log_, [](const RowId& id) { return Place{"rows", static_cast<int64_t>(id.line), 0}; }};
};

TEST_F(ChunkCursorTest, KnowsWhetherMoreComes) {
  note(Note::Kind::print, 4, "before 4");
  note(Note::Kind::print, 10, "at the end");
  cursor_.enter(chunk_, 0);
  EXPECT_TRUE(cursor_.has_next());
  EXPECT_EQ(take(4), "0+4");
  EXPECT_TRUE(cursor_.has_next());
  EXPECT_EQ(told_, std::vector<std::string>{"before 4"});
  EXPECT_EQ(take(10), "4+6");
  EXPECT_FALSE(cursor_.has_next());
  EXPECT_EQ(told_, (std::vector<std::string>{"before 4", "at the end"}));
  EXPECT_EQ(take(1), "end");
  EXPECT_EQ(told_.size(), 2u) << "once";
}

TEST_F(ChunkCursorTest, AnErrorComesLikeARow) {
  chunk_.fail(std::make_exception_ptr(DataError("torn")));
  cursor_.enter(chunk_, 0);
  EXPECT_EQ(take(10), "0+10");
  EXPECT_TRUE(cursor_.has_next());
  EXPECT_TRUE(cursor_.has_next());
  EXPECT_THROW(take(1), DataError);
}

TEST_F(ChunkCursorTest, GivesAtMostWhatIsAskedFor) {
  cursor_.enter(chunk_, 0);
  EXPECT_EQ(take(4), "0+4");
  EXPECT_EQ(take(4), "4+4");
  EXPECT_EQ(take(4), "8+2");
  EXPECT_EQ(take(4), "end");
  EXPECT_EQ(cursor_.rows_passed(), 10);
}

TEST_F(ChunkCursorTest, NotesTakeEffectWhenTheirRowIsAskedFor) {
  note(Note::Kind::print, 0, "a");
  note(Note::Kind::print, 3, "b");
  note(Note::Kind::print, 10, "c");
  cursor_.enter(chunk_, 0);
  EXPECT_EQ(take(100), "0+3");
  EXPECT_EQ(told_, (std::vector<std::string>{"a"}));
  EXPECT_EQ(take(100), "3+7");
  EXPECT_EQ(told_, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(take(100), "end");
  EXPECT_EQ(told_, (std::vector<std::string>{"a", "b", "c"}));
}

TEST_F(ChunkCursorTest, MakesLinesAbsolute) {
  note(Note::Kind::bad_row, 2);
  chunk_.notes[0].place = {"a.csv", 3, 7};
  cursor_.enter(chunk_, 100);
  EXPECT_EQ(chunk_.rows.id(4).line, 108u);
  EXPECT_EQ(chunk_.rows.id(4).next_line, 110u);
  EXPECT_EQ(take(10), "0+2");
  EXPECT_EQ(take(10), "2+8");
  EXPECT_EQ(told_, (std::vector<std::string>{"a.csv:103:7"}));
}

TEST_F(ChunkCursorTest, StaysAtAnErrorAndPlacesIt) {
  chunk_.fail(4, std::make_exception_ptr(DataError("bad value")));
  chunk_.rows.resize(4);
  cursor_.enter(chunk_, 100);
  EXPECT_EQ(take(10), "0+4");
  for (int round = 0; round < 2; ++round) {
    try {
      take(10);
      FAIL();
    } catch (const DataError& error) {
      EXPECT_STREQ(error.what(), "rows:108: bad value");
    }
  }
}

TEST_F(ChunkCursorTest, ErrorsKeepAPlaceOfTheirOwn) {
  chunk_.fail(0, std::make_exception_ptr(IoError("too short", {"b.csv"})), {"a.csv", 1, 1});
  cursor_.enter(chunk_, 1);
  try {
    take(1);
    FAIL();
  } catch (const IoError& error) {
    EXPECT_STREQ(error.what(), "b.csv: too short");
  }
}

TEST_F(ChunkCursorTest, SkipsRowsWithTheNotesBeforeThem) {
  note(Note::Kind::print, 0, "a");
  note(Note::Kind::print, 3, "b");
  note(Note::Kind::print, 4, "c");
  cursor_.enter(chunk_, 0);
  cursor_.skip(4);
  EXPECT_EQ(take(10), "4+6");
  EXPECT_EQ(told_, (std::vector<std::string>{"c"}));
}

TEST_F(ChunkCursorTest, GivesRecordByRecord) {
  note(Note::Kind::print, 0, "a");
  note(Note::Kind::dropped, 2, "filter");
  chunk_.notes.back().count = 3;
  note(Note::Kind::bad_row, 2);
  note(Note::Kind::print, 2, "b");
  note(Note::Kind::bad_row, 10);
  note(Note::Kind::print, 10, "c");
  chunk_.notes[2].place = {"a.csv", 3, 1};
  chunk_.notes[4].place = {"a.csv", 9, 1};
  cursor_.enter(chunk_, 0);
  EXPECT_EQ(cursor_.next_record(), ChunkCursor::Record::row);
  EXPECT_EQ(told_, (std::vector<std::string>{"a"}));
  EXPECT_EQ(cursor_.next_record(), ChunkCursor::Record::row);
  EXPECT_EQ(cursor_.next_record(), ChunkCursor::Record::left_out);
  EXPECT_EQ(dropped(), 1u) << "one of the three";
  EXPECT_EQ(records(), "---23456789-");
  EXPECT_EQ(dropped(), 3u);
  EXPECT_EQ(log_.bad_rows(), 2u);
  EXPECT_EQ(told_, (std::vector<std::string>{"a", "a.csv:3:1", "b", "a.csv:9:1", "c"}));
}

TEST_F(ChunkCursorTest, SkipsRecordsInSilence) {
  note(Note::Kind::print, 0, "a");
  note(Note::Kind::bad_row, 0);
  note(Note::Kind::dropped, 0, "filter");
  chunk_.notes.back().count = 3;
  note(Note::Kind::print, 1, "b");
  for (int silent = 0; silent <= 6; ++silent) {
    cursor_.enter(chunk_, 0);
    const uint64_t bad_before = log_.bad_rows(), dropped_before = dropped();
    told_.clear();
    EXPECT_EQ(records(silent), "----0123456789");
    EXPECT_EQ(log_.bad_rows() - bad_before, silent < 1 ? 1u : 0u);
    EXPECT_EQ(dropped() - dropped_before, static_cast<uint64_t>(std::clamp(4 - silent, 0, 3)));
    EXPECT_EQ(told_.size(), silent == 0 ? 3u : silent <= 5 ? 1u : 0u);
  }
}

TEST_F(ChunkCursorTest, AnErrorEndsRecordsToo) {
  chunk_.fail(4, std::make_exception_ptr(DataError("bad value")));
  chunk_.rows.resize(4);
  cursor_.enter(chunk_, 100);
  for (int row = 0; row < 4; ++row) EXPECT_EQ(cursor_.next_record(), ChunkCursor::Record::row);
  EXPECT_THROW(cursor_.next_record(), DataError);
  EXPECT_THROW(cursor_.next_record(false), DataError);
  EXPECT_THROW(cursor_.next_record(), DataError);
}

}  // namespace
}  // namespace millrace
