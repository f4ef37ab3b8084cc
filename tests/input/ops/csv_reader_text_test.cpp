// csv_reader: what it learns of its files, and what text a range becomes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "millrace/input/csv/csv_dialect.h"
#include "millrace/input/source.h"
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
  const char* comment = "none";
};

// Names of these files, in this order.
class Names final : public NameSource {
 public:
  std::vector<std::shared_ptr<const FileEntry>> entries;
  Port bind(const BindArgs&) override { return {.type = PortType::names}; }
  bool next(Unit&) override { return false; }
  void rewind(uint32_t) override {}
  void seek(const Position&) override {}
  void save(State&) const override {}
  void check(const State&) const override {}
  Unit unit_of(const RowId&) const override { return {}; }
  Place place(const RowId&) const override { return {}; }
  std::vector<std::shared_ptr<const FileEntry>> files() const override { return entries; }
};

class CsvReaderTextTest : public ::testing::Test {
 protected:
  std::shared_ptr<const FileEntry> add(const std::string& path, const std::string& bytes) {
    files_.files[path] = bytes;
    names_.entries.push_back(
        std::make_shared<FileEntry>(FileEntry{path, static_cast<uint32_t>(names_.entries.size()), bytes.size()}));
    return names_.entries.back();
  }
  CsvDialect learn(const Start& start) {
    reader_ = testing_support::make_op<FileSource>("csv_reader", Spec::map()
                                                                     .set("header", start.header)
                                                                     .set("skip_lines", start.skip_lines)
                                                                     .set("comment", start.comment)
                                                                     .set("chunk_bytes", 1000));
    BindArgs args;
    args.files = &files_;
    args.names = &names_;
    return dynamic_cast<const CsvDialect&>(*reader_->bind(args).format);
  }
  Chunk& read(size_t file, uint64_t begin, uint64_t end, bool exact) {
    Unit unit;
    unit.file = names_.entries[file];
    unit.begin = begin;
    unit.end = end;
    unit.exact = exact;
    chunk_.reset(unit);
    reader_->read(chunk_);
    return chunk_;
  }

  MemoryFiles files_;
  Names names_;
  std::unique_ptr<FileSource> reader_;
  Chunk chunk_;
};

TEST_F(CsvReaderTextTest, KnowsTheLineOfTheHeader) {
  add("a", "about\n\n\r\nx,y\n1,2\n");
  EXPECT_EQ(learn({.skip_lines = 1, .header = true}).header_line, 4);
  EXPECT_EQ(learn({.skip_lines = 1}).header_line, 0) << "there is none";
}

TEST_F(CsvReaderTextTest, LearnsTheColumnsFromTheFirstFileThatHasARecord) {
  add("empty", "");
  add("blank", "\n\r\n");
  add("a", "\n1,2,3\n");
  add("b", "1,2\n1,2\n1,2\n");
  EXPECT_EQ(learn({}).columns, 3);
  EXPECT_EQ(learn({.skip_lines = 2}).columns, 2) << "nothing is left of a";
  names_.entries.resize(2);
  EXPECT_EQ(learn({}).columns, 0);
}

TEST_F(CsvReaderTextTest, LearnsTheColumnsFromTheFirstRecordThatIsWellFormed) {
  add("a", "#,,,,\n1,\"2\"x,3,4\n1\"\n7,\"8,\n9\"\n1\n");
  EXPECT_EQ(learn({.comment = "#"}).columns, 2);
  add("b", "1,2,3\n");
  files_.files["a"] = "\"1,2\n";
  names_.entries[0] = std::make_shared<FileEntry>(FileEntry{"a", 0, 5});
  EXPECT_EQ(learn({}).columns, 3) << "an unterminated quote hides all that follows";
}

TEST_F(CsvReaderTextTest, LearnsTheHeader) {
  add("empty", "");
  add("a", "x\nid,\"a b\"\n1,2,3\n");
  const CsvDialect dialect = learn({.skip_lines = 1, .header = true});
  EXPECT_EQ(dialect.columns, 2);
  EXPECT_THAT(dialect.header, ElementsAre("id", "a b"));
  EXPECT_EQ(dialect.first_record, "id,\"a b\"\n");
}

TEST_F(CsvReaderTextTest, KeepsTheRecordThatItCountedIn) {
  add("a", "\"x\n1;2;3\r\n4\n");
  files_.files["a"][0] = 'x';
  EXPECT_EQ(learn({.skip_lines = 1}).first_record, "1;2;3\r\n");
}

TEST_F(CsvReaderTextTest, TextStartsBehindThePreamble) {
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

TEST_F(CsvReaderTextTest, RefusesAnotherHeader) {
  add("a", "id,price\n1,2\n");
  add("b", "\n id,price\n1,2\n");
  add("c", "id,\"price\"\r\n1,2\n");
  add("d", "id\n");
  add("e", "\n");
  add("f", "id,price,colour,\"the \"\"size\"\" of it, in a long text\"\n1,2,3,4\n");
  learn({.header = true});
  EXPECT_EQ(error_of([&] { read(1, 0, 4, true); }),
            "b:2:1: the header differs from the header of a: expected \"id,price\", got \" id,price\"; column 0: "
            "expected \"id\", "
            "got \" id\"");
  EXPECT_TRUE((throws_exactly<DataError>([&] { read(1, 0, 4, true); })));
  EXPECT_EQ(error_of([&] { read(2, 0, 4, true); }), "no error") << "names are compared, not bytes";
  EXPECT_EQ(error_of([&] { read(3, 0, 3, true); }),
            "d:1:1: the header differs from the header of a: expected \"id,price\", got \"id\"; column 1: expected "
            "\"price\", got "
            "nothing");
  EXPECT_EQ(error_of([&] { read(4, 0, 1, true); }), "no error") << "no header, no rows";
  EXPECT_EQ(error_of([&] { read(5, 0, 4, true); }),
            "f:1:1: the header differs from the header of a: expected \"id,price\", got \"id,price,colour,the "
            "\\\"size\\\" of "
            "it, in a long text\"; column 2: expected nothing, got \"colour\"");
  EXPECT_TRUE((throws_exactly<DataError>([&] { reader_->check_files(); })));
}

TEST_F(CsvReaderTextTest, ShowsNamesOfHeadersThatAreEmpty) {
  add("a", ",id,\n1,2,3\n");
  add("b", ",,id\n1,2,3\n");
  learn({.header = true});
  EXPECT_EQ(
      error_of([&] { read(1, 0, 4, true); }),
      "b:1:1: the header differs from the header of a: expected \",id,\", got \",,id\"; column 1: expected \"id\", got "
      "\"\"");
}

TEST_F(CsvReaderTextTest, NotesAFileThatCannotBeOpened) {
  add("a", "1\n");
  add("b", "1\n");
  learn({});
  files_.unreadable.insert("b");
  const Chunk& chunk = read(1, 0, 2, true);
  ASSERT_EQ(chunk.notes.size(), 1u);
  EXPECT_EQ(error_of([&] { std::rethrow_exception(chunk.notes[0].error); }),
            "b: cannot open the file: Permission denied");
  EXPECT_THAT(chunk.text->bytes(), IsEmpty());
  EXPECT_EQ(error_of([&] { reader_->check_files(); }), "b: cannot open the file: Permission denied");
}

TEST_F(CsvReaderTextTest, UsesItsMemoryAgain) {
  add("a", "1\n2\n");
  learn({});
  const ChunkText* text = read(0, 0, 2, true).text.get();
  EXPECT_EQ(read(0, 2, 4, false).text.get(), text);
  EXPECT_EQ(text->bytes(), "2\n");
  EXPECT_EQ(files_.opened, 1) << "and the descriptor";
}

// trainer check, while somebody writes.
TEST_F(CsvReaderTextTest, AFileThatHasGrownMayBeChecked) {
  add("t.csv", "a,b\n");
  learn({.header = true});
  files_.files["t.csv"] = "a,b\n1,2\n";
  EXPECT_EQ(error_of([&] { reader_->check_files(); }), "no error");
}

}  // namespace
}  // namespace millrace
