#include "millrace/input/csv/file_text.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "millrace/input/files/stream_file.h"
#include "tests/input/op_testing.h"

namespace millrace {
namespace {

using testing_support::error_of;
using testing_support::MemoryFiles;

// A file in memory and its units.
class FileTextTest : public ::testing::Test {
 protected:
  void use(std::string bytes) {
    files_.files["t"] = std::move(bytes);
    entry_ = std::make_shared<FileEntry>(FileEntry{"t", 0, files_.files["t"].size()});
  }
  Unit unit(uint64_t begin, uint64_t end, bool exact) const {
    Unit out;
    out.file = entry_;
    out.begin = begin;
    out.end = end;
    out.exact = exact;
    return out;
  }
  // "offset [bytes up to the limit]" of the range.
  std::string range(uint64_t begin, uint64_t end, bool exact = false) {
    text_.start(files_.open("t"), unit(begin, end, exact));
    EXPECT_EQ(text_.limit(), std::min<uint64_t>(end, entry_->size));
    const uint64_t size = text_.limit() > text_.offset() ? text_.limit() - text_.offset() : 0;
    return cat(text_.offset(), " [", text_.bytes().substr(0, size), "]");
  }

  MemoryFiles files_;
  std::shared_ptr<FileEntry> entry_;
  FileText text_;
};

TEST_F(FileTextTest, StartsAtTheFirstRecordOfTheRange) {
  use("11\n222\n3\n");
  EXPECT_EQ(range(0, 3, true), "0 [11\n]");
  EXPECT_EQ(range(1, 3), "3 []") << "the record that starts at the limit is the next range's";
  EXPECT_EQ(range(1, 4), "3 [2]");
  EXPECT_EQ(range(2, 6), "3 [222]");
  EXPECT_EQ(range(3, 6), "3 [222]") << "the byte before the range ends a line";
  EXPECT_EQ(range(4, 6), "6 []");
  EXPECT_EQ(range(4, 9), "7 [3\n]");
  EXPECT_EQ(range(8, 9), "9 []");
  EXPECT_EQ(range(4, 7, true), "4 [22\n]") << "an exact range begins where it says";
}

// The text of a compressed file: how much there is shows at its end, and it may be wrong from some byte on.
class UnknownText final : public File {
 public:
  explicit UnknownText(std::string text, size_t wrong_from = SIZE_MAX)
      : text_(std::move(text)), wrong_from_(wrong_from) {}
  uint64_t size() const override { return 7; }
  size_t read(uint64_t offset, void* to, size_t bytes) const override {
    if (offset >= wrong_from_) throw DataError("damaged");
    const size_t end = std::min(text_.size(), wrong_from_);
    most = std::max(most, offset + bytes);
    return offset >= end ? 0 : text_.substr(0, end).copy(static_cast<char*>(to), bytes, static_cast<size_t>(offset));
  }
  mutable uint64_t most = 0;  // the furthest byte that was asked for

 private:
  const std::string text_;
  const size_t wrong_from_;
};

class InflatedTextTest : public FileTextTest {
 protected:
  InflatedTextTest() { use("on disk"); }
  void start(const std::shared_ptr<const UnknownText>& file, Unit one) { text_.start(file, one, true); }
  static std::shared_ptr<StreamPart> part(uint64_t begin, const std::string& bytes, bool at_record) {
    auto out = std::make_shared<StreamPart>();
    out->begin = begin;
    out->bytes = bytes;
    out->at_record = at_record;
    return out;
  }
};

TEST_F(InflatedTextTest, IsReadAsFarAsItIsNeeded) {
  const auto file = std::make_shared<const UnknownText>(std::string(100000, '1'));
  start(file, unit(10, 30, true));
  EXPECT_EQ(text_.offset(), 10u);
  EXPECT_EQ(text_.bytes().size(), 20u);
  EXPECT_EQ(file->most, 30u) << "a row that is read again needs no more";
  EXPECT_FALSE(text_.at_end());
  text_.extend();
  EXPECT_LE(file->most, 5000u);
  while (!text_.at_end()) text_.extend();
  EXPECT_EQ(text_.bytes().size(), 99990u);
}

TEST_F(InflatedTextTest, ARangeIsReadFromItsStartAndThePartBeforeTheUnitIsDropped) {
  const auto file = std::make_shared<const UnknownText>("11\n222\n3\n");
  Unit one = unit(3, 7, true);
  one.part = part(0, "", false);
  start(file, one);
  EXPECT_EQ(text_.offset(), 3u);
  EXPECT_EQ(text_.bytes(), "222\n");
  EXPECT_EQ(text_.limit(), 7u);
}

TEST_F(InflatedTextTest, AUnitAfterAnErrorMayBeginBeforeItsPart) {
  const auto file = std::make_shared<const UnknownText>("11\n222\n3\n");
  for (const char* bytes : {"", "222\n"}) {
    Unit one = unit(1, 7, true);
    one.part = part(3, bytes, true);
    start(file, one);
    EXPECT_EQ(text_.offset(), 3u);
    EXPECT_EQ(text_.bytes(), "222\n");
  }
}

TEST_F(InflatedTextTest, AByteOrderMarkMayComeByteByByte) {
  const auto file = std::make_shared<const UnknownText>("\xef\xbb\xbfx\n");
  Unit one = unit(0, 1, true);
  one.part = part(0, "\xef", true);
  start(file, one);
  const Preamble preamble = pass_preamble(text_, true, CsvDialect(), *entry_);
  EXPECT_TRUE(preamble.has_header);
  EXPECT_EQ(text_.offset(), 5u);
}

// Nobody knows the byte before a range.
TEST_F(InflatedTextTest, TheFirstRecordOfARangeIsAGuess) {
  const auto file = std::make_shared<const UnknownText>("11\n222\n3\n");
  Unit one = unit(3, 9, false);
  one.part = part(3, "", true);
  start(file, one);
  EXPECT_EQ(text_.offset(), 3u);
  one.part = part(3, "", false);
  start(file, one);
  EXPECT_EQ(text_.offset(), 7u) << "after the first line end";
  one = unit(3, 7, false);
  one.part = part(3, "", false);
  start(file, one);
  EXPECT_EQ(text_.offset(), 7u) << "none begins before the limit";
}

TEST_F(InflatedTextTest, APartBringsItsBytes) {
  const auto file = std::make_shared<const UnknownText>("11\n222\n3\n");
  Unit one = unit(3, 7, false);
  one.part = part(3, "222\n", true);
  start(file, one);
  EXPECT_EQ(text_.bytes(), "222\n");
  EXPECT_EQ(file->most, 0u) << "nothing is read";
  text_.extend();
  EXPECT_EQ(text_.bytes(), "222\n3\n");
}

TEST_F(InflatedTextTest, WhatIsWrongComesAfterTheTextBeforeIt) {
  const auto file = std::make_shared<const UnknownText>("11\n222\n3\n", 5);
  start(file, unit(0, 9, true));
  EXPECT_EQ(text_.bytes(), "11\n22");
  EXPECT_EQ(error_of([&] { text_.extend(); }), "damaged");
  Unit one = unit(4, 9, false);
  one.part = part(4, "", false);
  EXPECT_EQ(error_of([&] { start(file, one); }), "damaged") << "no record begins before it";
  one = unit(7, 9, true);
  one.part = part(0, "", true);
  EXPECT_EQ(error_of([&] { start(file, one); }), "damaged");
}

TEST_F(FileTextTest, ACloseLetsTheFileGoAndKeepsTheBytes) {
  use("11\n222\n3\n");
  range(0, 3, true);
  EXPECT_EQ(files_.open_now, 1);
  text_.close();
  EXPECT_EQ(files_.open_now, 0);
  EXPECT_EQ(text_.bytes().substr(0, 3), "11\n");
  EXPECT_EQ(range(4, 9), "7 [3\n]") << "another range can be read";
}

// It would hang.
TEST_F(FileTextTest, AClosedTextLetsOthersHaveTheirTurn) {
  const auto take_turns = [this] {
    text_.take_turn();
    text_.take_turn();
    text_.close();
    FileText().take_turn();
    text_.take_turn();
  };
  // The sanitizer of undefined behaviour needs descriptors when it first meets a type, and has none later.
  take_turns();
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few = before;
  few.rlim_cur = 4;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  take_turns();
  setrlimit(RLIMIT_NOFILE, &before);
}

TEST_F(FileTextTest, ReadsOnPastTheRange) {
  std::string bytes(100000, '1');
  use(bytes);
  range(0, 10, true);
  size_t before = text_.bytes().size();
  EXPECT_GT(before, 10u);
  EXPECT_LT(before, 50000u);
  EXPECT_FALSE(text_.at_end());
  while (!text_.at_end()) {
    text_.extend();
    EXPECT_GT(text_.bytes().size(), before);
    before = text_.bytes().size();
  }
  EXPECT_EQ(text_.bytes(), bytes);
  EXPECT_EQ(text_.offset(), 0u);
}

TEST_F(FileTextTest, KeepsWhatFollowsWhenItDropsAndReadsOn) {
  std::string bytes;
  for (int i = 0; bytes.size() < 100000; ++i) bytes += cat(i, '\n');
  use(bytes);
  range(0, 1, true);
  text_.skip(20);
  EXPECT_EQ(text_.offset(), 20u);
  text_.extend();
  text_.skip(1000);
  text_.extend();
  EXPECT_EQ(text_.bytes(), std::string_view(bytes).substr(1020, text_.bytes().size()));
}

// A preamble of any length, passed line by line.
TEST_F(FileTextTest, HoldsNoMoreBecauseMuchWasDropped) {
  use(std::string(4000000, '1'));
  range(0, 10, true);
  while (!text_.at_end()) {
    text_.skip(text_.bytes().size());
    text_.extend();
    ASSERT_LT(text_.bytes().size(), 50000u);
  }
}

TEST_F(FileTextTest, StopsAtTheSizeThatTheFileHadWhenItWasMatched) {
  use("1\n2\n");
  files_.files["t"] += "3\n";
  EXPECT_EQ(range(0, 10, true), "0 [1\n2\n]");
  EXPECT_TRUE(text_.at_end());
  EXPECT_EQ(text_.bytes(), "1\n2\n");
}

TEST_F(FileTextTest, RefusesAFileThatShrinksWhileItIsRead) {
  use("1\n2\n");
  entry_->size = 9;
  for (const uint64_t begin : {0u, 6u}) {
    EXPECT_EQ(
        error_of([&] { range(begin, 9, true); }),
        "t: the file is shorter than when the run began: expected 9 bytes, got 4; do not write to input files while "
        "they are read");
  }
}

TEST_F(FileTextTest, BecomesEmpty) {
  use("1\n2\n");
  range(0, 2, true);
  text_.fail(unit(2, 4, false));
  EXPECT_TRUE(text_.bytes().empty());
  EXPECT_TRUE(text_.at_end());
  EXPECT_EQ(text_.offset(), text_.limit());
  EXPECT_EQ(range(2, 4), "2 [2\n]") << "and is used again";
  use("");
  EXPECT_EQ(range(0, 0, true), "0 []");
  EXPECT_TRUE(text_.at_end());
}

struct Start {
  int64_t skip_lines = 0;
  bool header = false;
};

// "lines, [header fields] on line, then the rest", of a file that begins with `bytes`.
std::string pass(const std::string& bytes, const Start& start, CsvDialect dialect = {}) {
  dialect.skip_lines = start.skip_lines;
  MemoryFiles files;
  files.files["t"] = bytes;
  const auto entry = std::make_shared<FileEntry>(FileEntry{"t", 0, bytes.size()});
  Unit unit;
  unit.file = entry;
  unit.end = std::min<uint64_t>(1, bytes.size());
  unit.exact = true;
  FileText text;
  text.start(files.open("t"), unit);
  const Preamble preamble = pass_preamble(text, start.header, dialect, *entry);
  std::string out = cat(preamble.lines, " lines");
  if (preamble.has_header) {
    out += ", header";
    for (size_t i = 0; i < text.scratch().size(); ++i) out += cat(" [", text.scratch().field(i), ']');
    out += cat(" at ", preamble.header_line);
  }
  EXPECT_EQ(text.offset() + text.bytes().size(), bytes.size());
  return cat(out, ", rest ", quote(text.bytes(), 1000));
}

TEST(Preamble, IsNothingByDefault) {
  EXPECT_EQ(pass("1,2\n", {}), "0 lines, rest \"1,2\\n\"");
  EXPECT_EQ(pass("", {}), "0 lines, rest \"\"");
}

TEST(Preamble, PassesAByteOrderMark) {
  EXPECT_EQ(pass("\xef\xbb\xbf"
                 "1,2\n",
                 {}),
            "0 lines, rest \"1,2\\n\"");
  EXPECT_EQ(pass("\xef\xbb\xbf"
                 "a,b\n1,2\n",
                 {.header = true}),
            "1 lines, header [a] [b] at 0, rest \"1,2\\n\"");
}

TEST(Preamble, PassesLinesWhateverIsInThem) {
  EXPECT_EQ(pass("made by \"x\n\n1,2\n", {.skip_lines = 2}), "2 lines, rest \"1,2\\n\"");
  EXPECT_EQ(pass("made by x\r\n1,2\n", {.skip_lines = 1}), "1 lines, rest \"1,2\\n\"");
  EXPECT_EQ(pass("a\nb", {.skip_lines = 1}), "1 lines, rest \"b\"");
  EXPECT_EQ(pass("a\nb", {.skip_lines = 5}), "2 lines, rest \"\"");
}

TEST(Preamble, CutsTheHeader) {
  EXPECT_EQ(pass("a,\"b\nc\"\r\n1,2\n", {.header = true}), "2 lines, header [a] [b\nc] at 0, rest \"1,2\\n\"");
  EXPECT_EQ(pass("x\n\n\r\na,b\n1\n", {.skip_lines = 1, .header = true}),
            "4 lines, header [a] [b] at 3, rest \"1\\n\"");
  EXPECT_EQ(pass("a,b", {.header = true}), "1 lines, header [a] [b] at 0, rest \"\"");
  CsvDialect dialect;
  dialect.comment = '#';
  EXPECT_EQ(pass("# a, \"b\na,b\n#1\n", {.header = true}, dialect), "2 lines, header [a] [b] at 1, rest \"#1\\n\"");
}

TEST(Preamble, HasNoHeaderWhereTheFileEndsBeforeIt) {
  EXPECT_EQ(pass("", {.header = true}), "0 lines, rest \"\"");
  EXPECT_EQ(pass("\n\n", {.header = true}), "2 lines, rest \"\"");
  EXPECT_EQ(pass("x", {.skip_lines = 1, .header = true}), "1 lines, rest \"\"");
}

TEST(Preamble, MayBeLongerThanWhatIsReadAtOnce) {
  const std::string line(100000, 'x');
  EXPECT_EQ(pass(cat(line, "\n", line, ",b\n1\n"), {.skip_lines = 1, .header = true}),
            cat("2 lines, header [", line, "] [b] at 1, rest \"1\\n\""));
}

TEST(Preamble, RefusesAHeaderThatIsNone) {
  EXPECT_EQ(
      error_of([] { pass("x\na,b\"c\n", {.skip_lines = 1, .header = true}); }),
      "t:2:3: in the header: a quote inside an unquoted field; put the whole field in quotes and double the quotes in "
      "it, or set csv_reader: {quote: none}");
  EXPECT_EQ(error_of([] { pass("a,\n\"b\nc", {.header = true}); }), "no error");
  EXPECT_EQ(error_of([] { pass("\"a\n", {.header = true}); }),
            "t:1:1: in the header: unterminated quote: the field that starts here has no closing quote; close it, or "
            "set csv_reader: {quote: none}");
  CsvDialect strict;
  strict.skip_blank_lines = false;
  EXPECT_EQ(error_of([&] { pass("x\n\na\n", {.skip_lines = 1, .header = true}, strict); }),
            "t:2:1: in the header: a blank line; set csv_reader: {blank_lines: skip}");
}

}  // namespace
}  // namespace millrace
