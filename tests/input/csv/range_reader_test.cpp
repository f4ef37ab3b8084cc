#include "millrace/input/csv/range_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "tests/input/op_testing.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing_support::error_of;
using testing_support::MemoryFiles;
using testing_support::throws_exactly;

struct Start {
  int64_t skip_lines = 0;
  bool header = false;
};

class RangeReaderTest : public ::testing::Test {
 protected:
  std::shared_ptr<const FileEntry> add(const std::string& path, const std::string& bytes) {
    files_.files[path] = bytes;
    entries_.push_back(
        std::make_shared<FileEntry>(FileEntry{path, static_cast<uint32_t>(entries_.size()), bytes.size()}));
    return entries_.back();
  }
  CsvDialect learn(const Start& start, CsvDialect dialect = {}) {
    dialect.skip_lines = start.skip_lines;
    reader_.reset();
    open_files_.emplace(files_);
    reader_ = std::make_unique<RangeReader>(*open_files_, start.header, dialect, 1000);
    reader_->learn(entries_);
    return reader_->dialect();
  }
  Chunk& read(size_t file, uint64_t begin, uint64_t end, bool exact) {
    Unit unit;
    unit.file = entries_[file];
    unit.begin = begin;
    unit.end = end;
    unit.exact = exact;
    chunk_.reset(unit);
    reader_->read(chunk_);
    return chunk_;
  }

  MemoryFiles files_;
  std::optional<OpenFiles> open_files_;
  std::vector<std::shared_ptr<const FileEntry>> entries_;
  std::unique_ptr<RangeReader> reader_;
  Chunk chunk_;
};

TEST_F(RangeReaderTest, KnowsTheLineOfTheHeader) {
  add("a", "about\n\n\r\nx,y\n1,2\n");
  EXPECT_EQ(learn({.skip_lines = 1, .header = true}).header_line, 4);
  EXPECT_EQ(learn({.skip_lines = 1}).header_line, 0) << "there is none";
}

TEST_F(RangeReaderTest, LearnsTheColumnsFromTheFirstFileThatHasARecord) {
  add("empty", "");
  add("blank", "\n\r\n");
  add("a", "\n1,2,3\n");
  add("b", "1,2\n1,2\n1,2\n");
  EXPECT_EQ(learn({}).columns, 3);
  EXPECT_EQ(learn({.skip_lines = 2}).columns, 2) << "nothing is left of a";
  entries_.resize(2);
  EXPECT_EQ(learn({}).columns, 0);
}

TEST_F(RangeReaderTest, LearnsTheColumnsFromTheFirstRecordThatIsWellFormed) {
  CsvDialect dialect;
  dialect.comment = '#';
  add("a", "#,,,,\n1,\"2\"x,3,4\n1\"\n7,\"8,\n9\"\n1\n");
  EXPECT_EQ(learn({}, dialect).columns, 2);
  add("b", "1,2,3\n");
  files_.files["a"] = "\"1,2\n";
  entries_[0] = std::make_shared<FileEntry>(FileEntry{"a", 0, 5});
  EXPECT_EQ(learn({}).columns, 3) << "an unterminated quote hides all that follows";
}

TEST_F(RangeReaderTest, LearnsTheHeader) {
  add("empty", "");
  add("a", "x\nid,\"a b\"\n1,2,3\n");
  const CsvDialect dialect = learn({.skip_lines = 1, .header = true});
  EXPECT_EQ(dialect.columns, 2);
  EXPECT_THAT(dialect.header, ElementsAre("id", "a b"));
  EXPECT_EQ(dialect.first_record, "id,\"a b\"\n");
}

TEST_F(RangeReaderTest, KeepsTheRecordThatItCountedIn) {
  add("a", "\"x\n1;2;3\r\n4\n");
  files_.files["a"][0] = 'x';
  EXPECT_EQ(learn({.skip_lines = 1}).first_record, "1;2;3\r\n");
}

TEST_F(RangeReaderTest, TextStartsBehindThePreamble) {
  add("a", "x\nid,b\n1,2\n3,4\n");
  learn({.skip_lines = 1, .header = true});
  const Chunk& first = read(0, 0, 1, true);
  EXPECT_TRUE(first.notes.empty());
  EXPECT_EQ(first.first_record, 0u);
  EXPECT_EQ(first.lines, 2u);
  EXPECT_EQ(first.end_record, 7u) << "the header is the first range's, however long";
  EXPECT_EQ(first.text->offset(), 7u);
  EXPECT_EQ(first.text->limit(), 1u);
  const Chunk& later = read(0, 8, 12, false);
  EXPECT_EQ(later.first_record, 11u);
  EXPECT_EQ(later.lines, 0u);
  EXPECT_EQ(read(0, 13, 15, false).first_record, 15u) << "no record starts there";
  EXPECT_EQ(read(0, 13, 15, true).first_record, 13u);
}

TEST_F(RangeReaderTest, RefusesAnotherHeader) {
  add("a", "id,price\n1,2\n");
  add("b", "\n id,price\n1,2\n");
  add("c", "id,\"price\"\r\n1,2\n");
  add("d", "id\n");
  add("e", "\n");
  add("f", "id,price,colour,\"the \"\"size\"\" of it, in a long text\"\n1,2,3,4\n");
  learn({.header = true});
  EXPECT_EQ(
      error_of([&] { read(1, 0, 4, true); }),
      "b:2:1: the header differs from that of a: expected \"id,price\", got \" id,price\"; column 0: expected \"id\", "
      "got \" id\"");
  EXPECT_TRUE((throws_exactly<DataError>([&] { read(1, 0, 4, true); })));
  EXPECT_EQ(error_of([&] { read(2, 0, 4, true); }), "no error") << "names are compared, not bytes";
  EXPECT_EQ(
      error_of([&] { read(3, 0, 3, true); }),
      "d:1:1: the header differs from that of a: expected \"id,price\", got \"id\"; column 1: expected \"price\", got "
      "nothing");
  EXPECT_EQ(error_of([&] { read(4, 0, 1, true); }), "no error") << "no header, no rows";
  EXPECT_EQ(
      error_of([&] { read(5, 0, 4, true); }),
      "f:1:1: the header differs from that of a: expected \"id,price\", got \"id,price,colour,the \\\"size\\\" of "
      "it, in a long text\"; column 2: expected nothing, got \"colour\"");
  EXPECT_EQ(error_of([&] { reader_->check(entries_[0]); }), "no error");
  EXPECT_TRUE((throws_exactly<DataError>([&] { reader_->check(entries_[3]); })));
}

TEST_F(RangeReaderTest, ShowsNamesOfHeadersThatAreEmpty) {
  add("a", ",id,\n1,2,3\n");
  add("b", ",,id\n1,2,3\n");
  learn({.header = true});
  EXPECT_EQ(error_of([&] { read(1, 0, 4, true); }),
            "b:1:1: the header differs from that of a: expected \",id,\", got \",,id\"; column 1: expected \"id\", got "
            "\"\"");
}

TEST_F(RangeReaderTest, NotesAFileThatCannotBeOpened) {
  add("a", "1\n");
  learn({});
  files_.unreadable.insert("a");
  const CsvDialect dialect = reader_->dialect();
  open_files_.emplace(files_);
  reader_ = std::make_unique<RangeReader>(*open_files_, false, dialect, 1000);
  const Chunk& chunk = read(0, 0, 2, true);
  ASSERT_EQ(chunk.notes.size(), 1u);
  EXPECT_EQ(error_of([&] { std::rethrow_exception(chunk.notes[0].error); }),
            "a: cannot open the file: Permission denied");
  EXPECT_THAT(chunk.text->bytes(), IsEmpty());
  EXPECT_EQ(error_of([&] { reader_->check(entries_[0]); }), "a: cannot open the file: Permission denied");
}

TEST_F(RangeReaderTest, UsesItsMemoryAgain) {
  add("a", "1\n2\n");
  learn({});
  const ChunkText* text = read(0, 0, 2, true).text.get();
  EXPECT_EQ(read(0, 2, 4, false).text.get(), text);
  EXPECT_EQ(text->bytes(), "2\n");
  EXPECT_EQ(files_.opened, 1) << "and the descriptor";
}

// trainer check, while somebody writes.
TEST(RangeReader, AFileThatHasGrownMayBeChecked) {
  MemoryFiles files;
  files.files["t.csv"] = "a,b\n1,2\n";
  auto entry = std::make_shared<FileEntry>(FileEntry{"t.csv", 0, 4});
  OpenFiles open_files(files);
  RangeReader reader(open_files, true, {}, 100);
  reader.learn({entry});
  EXPECT_EQ(testing_support::error_of([&] { reader.check(entry); }), "no error");
}

}  // namespace
}  // namespace millrace
