#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "millrace/input/csv/csv_dialect.h"
#include "tests/input/csv_run.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::CsvRun;
using testing_support::CsvSetup;
using testing_support::error_of;
using testing_support::make_op;
using testing_support::MemoryFiles;
using testing_support::throws_exactly;

class CsvReaderTest : public ::testing::Test {
 protected:
  // "path begin-end" of the units that are left; "!" behind exact ones, with their line.
  static std::vector<std::string> units(RowSource& reader, int count = 100) {
    std::vector<std::string> out;
    Unit unit;
    while (count-- > 0 && reader.next(unit)) {
      out.push_back(cat(unit.pass, '.', unit.file_ordinal, ' ', unit.file->path, ' ', unit.begin, '-', unit.end,
                        unit.exact ? cat("! ", unit.line) : ""));
    }
    return out;
  }
  CsvSetup setup(Spec reader = Spec::map(), const char* columns = "0") {
    CsvSetup out;
    out.files = &files_;
    out.queue.set("files", "*").set("shuffle", false).set("epochs", 1);
    out.reader = std::move(reader);
    out.decode.set("fields", Spec::map().set("x", Spec::map().set("columns", columns)));
    return out;
  }
  std::string make_error(Spec reader) {
    return error_of([&] { make_op<RowSource>("csv_reader", reader); });
  }

  MemoryFiles files_;
};

Spec chunks(int64_t bytes) { return Spec::map().set("chunk_bytes", bytes); }

TEST_F(CsvReaderTest, CutsFilesIntoRanges) {
  files_.files = {{"a", "1\n2\n3\n"}, {"b", ""}, {"c", "12\n"}};
  CsvRun run(setup(chunks(4)));
  EXPECT_THAT(units(run.reader()), ElementsAre("0.0 a 0-4! 1", "0.0 a 4-6", "0.1 b 0-0! 1", "0.2 c 0-3! 1"));
  Unit unit;
  EXPECT_FALSE(run.reader().next(unit));
  EXPECT_FALSE(run.reader().next(unit));
}

TEST_F(CsvReaderTest, GoesOnFromAnyPosition) {
  files_.files = {{"a", "1\n2\n3\n"}, {"b", "12\n"}};
  CsvSetup two = setup(chunks(4));
  two.queue.set("epochs", 2);
  CsvRun run(two);
  run.reader().seek({.pass = 0, .file_ordinal = 0, .offset = 2, .line = 2});
  EXPECT_THAT(units(run.reader(), 3), ElementsAre("0.0 a 2-4! 2", "0.0 a 4-6", "0.1 b 0-3! 1"));
  run.reader().seek({.pass = 1, .file_ordinal = 0, .offset = 6, .line = 4});
  EXPECT_THAT(units(run.reader()), ElementsAre("1.1 b 0-3! 1"));
  run.reader().seek({.pass = 0, .file_ordinal = 1, .offset = 0, .line = 1});
  EXPECT_THAT(units(run.reader(), 2), ElementsAre("0.1 b 0-3! 1", "1.0 a 0-4! 1"));
  run.reader().seek({.pass = 1, .file_ordinal = 1, .offset = 3, .line = 2});
  EXPECT_THAT(units(run.reader()), ElementsAre());
  run.reader().rewind(1);
  EXPECT_THAT(units(run.reader(), 1), ElementsAre("2.0 a 0-4! 1"));
}

TEST_F(CsvReaderTest, ReadsARecordAgainByItsId) {
  files_.files = {{"a", "h,g\n1,1\n2,\"\n\"\n"}, {"b", "h,g\n# \n3,1"}};
  CsvSetup with = setup(Spec::map().set("header", true).set("comment", "#"));
  CsvRun run(with);
  const std::vector<std::string> rows = run.run();
  EXPECT_THAT(rows, ElementsAre("a:2 x=1", "a:3 x=2", "b:3 x=3"));
  ASSERT_EQ(run.ids.size(), 3u);
  const std::vector<RowId> ids = run.ids;
  EXPECT_EQ(ids[1].offset, 8u);
  EXPECT_EQ(ids[1].length, 6u);
  EXPECT_EQ(ids[1].next_line, 5u);
  EXPECT_EQ(ids[2].file, 1u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_THAT(run.fetch(ids[i]), ElementsAre(rows[i]));
    EXPECT_EQ(run.ids.back(), ids[i]);
  }
  EXPECT_EQ(run.reader().place(ids[2]).text(), "b:3");
}

TEST_F(CsvReaderTest, NumbersLinesAcrossPreambles) {
  files_.files = {{"a", "note\n\nx,y\n\n1,2\r\n\r\n3,4"}};
  const Spec reader = Spec::map().set("header", true).set("skip_lines", 1);
  for (const int64_t bytes : {1, 3, 7, 1000}) {
    Spec with = reader;
    with.set("chunk_bytes", bytes);
    EXPECT_THAT(CsvRun(setup(with)).run(), ElementsAre("a:5 x=1", "a:7 x=3")) << bytes;
  }
}

TEST_F(CsvReaderTest, FindsADifferingHeaderInOrder) {
  files_.files = {{"a", "x,y\n1,2\n"}, {"b", ""}, {"c", "y,x\n3,4\n"}, {"d", "x,y\n5,6\n"}};
  CsvRun run(setup(Spec::map().set("header", true).set("chunk_bytes", 5)));
  EXPECT_THAT(run.run(),
              ElementsAre("a:2 x=1",
                          "error c:1:1: the header differs from the header of a: expected \"x,y\", got \"y,x\"; column "
                          "0: expected \"x\", got \"y\""));
  EXPECT_TRUE((throws_exactly<DataError>([&] { run.reader().check_files(); })));
  files_.files["c"] = "x,y\n3,4\n";
  EXPECT_EQ(error_of([&] { CsvRun(setup(Spec::map().set("header", true))).reader().check_files(); }), "no error");
}

// A compressed file may look like records of one field each.
TEST_F(CsvReaderTest, SaysWhatAFileIsThatHoldsNoText) {
  files_.files = {{"a", "\x1f\x8b\x08\",\n1\n2\n"}, {"b", "1\n"}};
  for (const bool header : {false, true}) {
    const std::string error = error_of([&] { CsvRun(setup(Spec::map().set("header", header))); });
    EXPECT_TRUE(error.starts_with("a:1:1: this is not CSV text; the file is compressed by gzip: ")) << error;
  }
  std::swap(files_.files["a"], files_.files["b"]);
  CsvRun run(setup());
  EXPECT_THAT(run.run(),
              ElementsAre("a:1 x=1", HasSubstr("error b:1:1: this is not CSV text; the file is compressed")));
  EXPECT_TRUE((throws_exactly<DataError>([&] { run.reader().check_files(); })));
  CsvSetup skipping = setup();
  skipping.decode.set("on_bad_row", "skip");
  EXPECT_THAT(CsvRun(skipping).run(), ElementsAre("a:1 x=1", HasSubstr("this is not CSV text")))
      << "a file is no bad row";
}

TEST_F(CsvReaderTest, SaysWhatAPipeGivesThatIsNoText) {
  files_.streams["-"] = {"\x89PNG\r\n"};
  CsvSetup piped = setup();
  piped.queue.set("files", "-");
  const std::string error = error_of([&] {
    const std::vector<std::string> rows = CsvRun(piped).run();
    throw DataError(rows.empty() ? "no error" : rows.front());
  });
  EXPECT_THAT(error, HasSubstr("-:1:1: this is not CSV text; the file is a PNG image"));
}

TEST_F(CsvReaderTest, SaysInOrderThatAFileHasShrunkOrCannotBeOpened) {
  files_.files = {{"a", "1\n"}, {"b", "2\n3\n"}};
  CsvRun run(setup());
  files_.files_at_open["b"] = "2\n";
  EXPECT_THAT(run.run(),
              ElementsAre("a:1 x=1",
                          "error b: the file is shorter than when the run began: expected 4 bytes, got 2; do not "
                          "write to input files while they are read"));
  CsvRun other(setup());
  files_.unreadable.insert("b");
  EXPECT_THAT(other.run(), ElementsAre("a:1 x=1", "error b: cannot open the file: Permission denied"));
}

TEST_F(CsvReaderTest, ReadsAFileToTheSizeThatItHad) {
  files_.files = {{"a", "1\n2\n"}};
  CsvRun run(setup());
  files_.files_at_open["a"] = "1\n2\n3\n";
  EXPECT_THAT(run.run(),
              ElementsAre("print warning: a: the file has grown since the run began, from 4 to 6 bytes; what "
                          "was added is not read",
                          "a:1 x=1", "a:2 x=2"));
}

TEST_F(CsvReaderTest, PassesOnThatReadingFails) {
  files_.files = {{"a", "1\n"}};
  CsvRun run(setup());
  files_.broken.insert("a");
  EXPECT_THAT(run.run(), ElementsAre("error a: cannot read the file: Input/output error"));
}

TEST_F(CsvReaderTest, SaysWhatItLearned) {
  files_.files = {{"a", ""}, {"b", "x;\"y\"\n1;2\n"}};
  CsvSetup with =
      setup(Spec::map().set("header", true).set("delimiter", ";").set("quote", "none").set("blank_lines", "error"));
  const auto dialect = dynamic_cast<const CsvDialect&>(*CsvRun(with).text_port().format);
  EXPECT_THAT(dialect.header, ElementsAre("x", "\"y\""));
  EXPECT_EQ(dialect.columns, 2);
  EXPECT_EQ(dialect.delimiter, ';');
  EXPECT_EQ(dialect.quote, std::nullopt);
  EXPECT_FALSE(dialect.skip_blank_lines);
}

TEST_F(CsvReaderTest, GivesNoRowsWhereThereAreNone) {
  files_.files = {{"a", ""}, {"b", "\n"}};
  CsvRun run(setup(Spec::map().set("header", true), "anything"));
  EXPECT_THAT(run.run(), ElementsAre());
  EXPECT_FALSE(run.reader().endless());
  CsvSetup endless = setup();
  endless.queue = Spec::map().set("files", "*");
  EXPECT_TRUE(CsvRun(endless).reader().endless());
  EXPECT_THAT(units(CsvRun(endless).reader(), 5).back(), HasSubstr("2.0")) << "every pass has its units";
}

TEST_F(CsvReaderTest, BoundsItsChunks) {
  files_.files = {{"a", "1,2,3,4\n"}};
  const ChunkBound small = CsvRun(setup(chunks(1000))).reader().chunk_bound();
  EXPECT_EQ(small.rows, 3u) << "8 bytes of at least 4 a record, and one that begins at the end";
  EXPECT_EQ(small.records, 5u);
  EXPECT_LT(small.text_bytes, 200000u);
  for (int i = 0; i < 23; ++i) files_.files["a"] += files_.files["a"];
  const ChunkBound bound = CsvRun(setup(chunks(1000))).reader().chunk_bound();
  EXPECT_EQ(bound.rows, 251u);
  EXPECT_EQ(bound.records, 501u);
  EXPECT_EQ(bound.text_bytes, 1000u + (32u << 20));
}

TEST_F(CsvReaderTest, SavesWhatTheQueueSaves) {
  files_.files = {{"a", "1\n"}};
  State state;
  CsvRun run(setup());
  run.reader().save(state);
  run.reader().check(state);
  files_.files["a"] = "12\n";
  EXPECT_THAT(error_of([&] { CsvRun(setup()).reader().check(state); }), HasSubstr("the file has changed"));
}

TEST_F(CsvReaderTest, RefusesOptionsThatMakeNoSense) {
  EXPECT_THAT(make_error(Spec::map().set("delimiter", ",,")),
              HasSubstr("delimiter: expected one byte other than a line end, got \",,\""));
  EXPECT_THAT(make_error(Spec::map().set("delimiter", "\\t")), HasSubstr("write \"\\t\" in double quotes"));
  EXPECT_THAT(make_error(Spec::map().set("delimiter", "tab")), HasSubstr("write \"\\t\" in double quotes"));
  EXPECT_THAT(make_error(Spec::map().set("delimiter", "space")), HasSubstr("write \" \" in double quotes"));
  EXPECT_THAT(make_error(Spec::map().set("quote", "pipe")), HasSubstr("write \"|\" in double quotes"));
  EXPECT_THAT(make_error(Spec::map().set("delimiter", "\n")), HasSubstr("expected one byte other than a line end"));
  EXPECT_THAT(make_error(Spec::map().set("delimiter", "none")), HasSubstr("expected one byte"));
  EXPECT_THAT(make_error(Spec::map().set("quote", "")),
              HasSubstr("quote: expected one byte other than a line end, or none, got \"\""));
  EXPECT_THAT(make_error(Spec::map().set("quote", ",")), HasSubstr("quote: quote and delimiter are both \",\""));
  EXPECT_THAT(make_error(Spec::map().set("comment", "\"")), HasSubstr("comment: comment and quote are both"));
  EXPECT_THAT(make_error(Spec::map().set("comment", ",")), HasSubstr("comment: comment and delimiter are both"));
  EXPECT_THAT(make_error(chunks(0)), HasSubstr("chunk_bytes: expected at least 1"));
  EXPECT_THAT(make_error(Spec::map().set("skip_lines", -1)), HasSubstr("skip_lines: expected at least 0"));
  EXPECT_THAT(make_error(Spec::map().set("blank_lines", "keep")), HasSubstr("blank_lines: expected skip or error"));
  EXPECT_THAT(make_error(Spec::map().set("readers", 0)), HasSubstr("readers: expected at least 1"));
  EXPECT_EQ(make_error(Spec::map().set("chunk_bytes", INT64_MAX).set("quote", "none").set("comment", "none")),
            "no error");
}

}  // namespace
}  // namespace millrace
