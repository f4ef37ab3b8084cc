#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "millrace/input/csv/record_scanner.h"
#include "tests/input/csv_run.h"
#include "tests/input/reference_csv.h"
#include "tests/support/sanitized.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::bad_row;
using testing_support::CsvRun;
using testing_support::CsvSetup;
using testing_support::error_of;
using testing_support::list_of;
using testing_support::make_op;
using testing_support::MemoryFiles;
using testing_support::run_text;
using testing_support::throws_exactly;

Spec field(const char* columns, const char* type = "float32") {
  return Spec::map().set("columns", columns).set("type", type);
}
Spec fields(Spec x) { return Spec::map().set("fields", Spec::map().set("x", std::move(x))); }
Spec skipping(Spec decode) { return decode.set("on_bad_row", "skip"); }

struct Case {
  const char* text;
  std::vector<std::string> expected;
  Spec decode = fields(field("0-1"));
  Spec reader = Spec::map();
};

void check(const std::vector<Case>& cases) {
  for (const Case& one : cases) {
    for (const int64_t chunk_bytes : {262144, 1, 2, 3, 5, 8}) {
      Spec reader = one.reader;
      reader.set("chunk_bytes", chunk_bytes);
      EXPECT_EQ(run_text(one.text, one.decode, reader), one.expected) << quote(one.text) << " by " << chunk_bytes;
    }
  }
}

TEST(DecodeCsv, ReadsRows) {
  check({
      {"1,2.5,3\n4,5,6\n", {"t.csv:1 x=1,2.5", "t.csv:2 x=4,5"}},
      {"1,2\n3,4", {"t.csv:1 x=1,2", "t.csv:2 x=3,4"}},
      {"1,2\r\n3,4\r\n", {"t.csv:1 x=1,2", "t.csv:2 x=3,4"}},
      {"\n\n1,2\n\r\n3,4\n\n", {"t.csv:3 x=1,2", "t.csv:5 x=3,4"}},
      {" 1 ,\t2\n", {"t.csv:1 x=1,2"}},
      {"\"1\",\" 2\"\n", {"t.csv:1 x=1,2"}},
      {"1,2,\"a,\nb\"\"\n\"\n3,4,\n", {"t.csv:1 x=1,2", "t.csv:4 x=3,4"}},
      {"", {}},
      {"\n\r\n", {}},
      {"nan,-inf\n", {"t.csv:1 x=nan,-inf"}},
  });
}

TEST(DecodeCsv, ReadsFieldsOfAllTypes) {
  const Spec decode = Spec::map().set("fields", Spec::map()
                                                    .set("features", field("1-2"))
                                                    .set("label", field("0", "int32"))
                                                    .set("weight", field("2", "float64"))
                                                    .set("key", field("0", "int64")));
  check({{"7,0.1,0.1\n", {"t.csv:1 features=0.1,0.1 label=7 weight=0.1 key=7"}, decode}});
}

TEST(DecodeCsv, KnowsHeadersAndOtherDialects) {
  const Spec by_name = fields(Spec::map().set("columns", list_of({"b", "a"})));
  check({
      {"a,b\n1,2\n", {"t.csv:2 x=2,1"}, by_name, Spec::map().set("header", true)},
      {"a;'b'\n1;'2'\n",
       {"t.csv:2 x=2,1"},
       by_name,
       Spec::map().set("header", true).set("delimiter", ";").set("quote", "'")},
      {"#,\"\n1,2\n#x\n3,4\n#",
       {"t.csv:2 x=1,2", "t.csv:4 x=3,4"},
       fields(field("0-1")),
       Spec::map().set("comment", "#")},
      {"1,\"2\n",
       {"error t.csv:1:3: column 1 (x): expected float32, got \"\\\"2\""},
       fields(field("0-1")),
       Spec::map().set("quote", "none")},
      {"1,2\n\n3,4\n",
       {"t.csv:1 x=1,2", "error t.csv:2:1: a blank line; set csv_reader: {blank_lines: skip}"},
       fields(field("0-1")),
       Spec::map().set("blank_lines", "error")},
      {"1,2\n\n3,4\n",
       {"t.csv:1 x=1,2", "bad t.csv:2:1 a blank line", "t.csv:3 x=3,4"},
       skipping(fields(field("0-1"))),
       Spec::map().set("blank_lines", "error")},
  });
}

TEST(DecodeCsv, ReadsTextsAsTheyAre) {
  const Spec texts = fields(field("0-1", "string"));
  check({
      {"a, b \n\"c,\"\"\nd\",\xff\n", {"t.csv:1 x=\"a\",\" b \"", "t.csv:2 x=\"c,\\\"\\nd\",\"\xff\""}, texts},
      {"a,\n", {"error t.csv:1:3: column 1 (x): the value is required, got \"\"; give x a default"}, texts},
      {"a,NA\n",
       {"t.csv:1 x=\"a\",\"none\""},
       fields(field("0-1", "string").set("default", "none")).set("missing", "NA")},
      {"a,\n,b\n",
       {"t.csv:1 x=\"a\",\"\"", "t.csv:2 x=\"7\",\"b\""},
       fields(field("0-1", "string").set("default", list_of({"7", ""})))},
  });
}

TEST(DecodeCsv, ReadsRaggedFields) {
  const auto ragged = [](const char* type, const char* split) { return field("1", type).set("split", split); };
  check({
      {"1,2 3 -4\n2,5\n", {"t.csv:1 x=2,3,-4", "t.csv:2 x=5"}, fields(ragged("int32", " "))},
      {"1,\"  2   3 \"\n2, \n", {"t.csv:1 x=2,3", "t.csv:2 x="}, fields(ragged("int64", " "))},
      {"1,0.5| 1e3\n", {"t.csv:1 x=0.5,1000"}, fields(ragged("float64", "|"))},
      {"1,a||b|\n", {"t.csv:1 x=\"a\",\"\",\"b\",\"\""}, fields(ragged("string", "|"))},
      {"1,\"2,3\"\n", {"t.csv:1 x=2,3"}, fields(ragged("float32", ","))},
      {"1,\n",
       {"error t.csv:1:3: column 1 (x): the value is required, got \"\"; give x a default: []"},
       fields(ragged("int32", " "))},
      {"1,\n2,7\n", {"t.csv:1 x=", "t.csv:2 x=7"}, fields(ragged("int32", " ").set("default", Spec::list()))},
      {"1,\n2,7\n", {"t.csv:1 x=8,9", "t.csv:2 x=7"}, fields(ragged("int32", " ").set("default", list_of({"8", "9"})))},
      {"1,\n", {"t.csv:1 x=\"none\""}, fields(ragged("string", " ").set("default", "none"))},
      {"1,2 x\n", {"error t.csv:1:3: column 1 (x), value 1: expected int32, got \"x\""}, fields(ragged("int32", " "))},
      {"1,2||3\n", {"error t.csv:1:3: column 1 (x), value 1: expected int32, got \"\""}, fields(ragged("int32", "|"))},
      {"1,2 inf\n",
       {"error t.csv:1:3: column 1 (x), value 1: \"inf\" is not finite as float32; set decode_csv: {allow_nonfinite: "
        "true}"},
       fields(ragged("float32", " ")).set("allow_nonfinite", false)},
      {"1,2 3\n",
       {"error t.csv:1:3: column 1 (x): expected int32, got \"2 3\"; a list of numbers? Give x a split: \" \""},
       fields(field("1", "int32"))},
  });
}

TEST(DecodeCsv, GivesAFieldAShape) {
  const auto image = [] { return field("0-3").set("reshape", list_of(std::vector<int64_t>{1, 2, -1})); };
  check({
      {"1,2,3,4\n5,6,7,8\n", {"t.csv:1 x=1,2,3,4", "t.csv:2 x=5,6,7,8"}, fields(image())},
      {"1,,NA,4\n",
       {"t.csv:1 x=1,7,8,4"},
       fields(image().set("default", list_of({"0", "7", "8", "9"}))).set("missing", "NA")},
      {"1,2,x,4\n", {"error t.csv:1:5: column 2 (x): expected float32, got \"x\""}, fields(image())},
  });
  MemoryFiles files;
  files.files["t.csv"] = "1,2,3,4\n";
  CsvSetup setup;
  setup.files = &files;
  setup.queue.set("files", "t.csv").set("epochs", 1);
  setup.decode = fields(image());
  const CsvRun run(setup);
  EXPECT_EQ(run.output().rows.text(), "x: float32 (1, 2, 2)");
}

TEST(DecodeCsv, LeavesOutRowsWithABadList) {
  check({{"1,2 x\n2,3\n",
          {"bad t.csv:1:3 column 1 (x), value 1: expected int32, got \"x\"", "t.csv:2 x=3"},
          skipping(fields(field("1", "int32").set("split", " ")))}});
}

TEST(DecodeCsv, RefusesSplitsThatMakeNoSense) {
  EXPECT_THAT(
      error_of([] {
        make_op<Transform>("decode_csv", fields(Spec::map().set("columns", list_of({"0", "1"})).set("split", " ")));
      }),
      HasSubstr("a field with split has one column, got 2"));
  EXPECT_THAT(error_of([] { make_op<Transform>("decode_csv", fields(field("0").set("split", ", "))); }),
              HasSubstr("expected one byte other than a line end, got \", \""));
  EXPECT_THAT(error_of([] { make_op<Transform>("decode_csv", fields(field("0").set("split", "."))); }),
              HasSubstr("the byte \".\" may stand in a number"));
  EXPECT_THAT(error_of([] { run_text("1,2\n", fields(field("1", "string").set("split", "\""))); }),
              HasSubstr("the split \"\\\"\" of x is the quote of the file"));
}

TEST(DecodeCsv, TakesDefaults) {
  Spec decode = fields(field("0-1").set("default", "7")).set("missing", list_of({"NA", "-1"}));
  check({{",NA\n-1,\"\"\n", {"t.csv:1 x=7,7", "t.csv:2 x=7,7"}, decode}});
}

TEST(DecodeCsv, SaysWhatIsWrongAndWhere) {
  check({
      {"1,2\n3,abc\n5,6\n", {"t.csv:1 x=1,2", "error t.csv:2:3: column 1 (x): expected float32, got \"abc\""}},
      {"1,2\n3\n", {"t.csv:1 x=1,2", "error t.csv:2:1: expected 2 fields, got 1; the first record has 2"}},
      {"1,2\n3,4,\n", {"t.csv:1 x=1,2", "error t.csv:2:1: expected 2 fields, got 3; the first record has 2"}},
      {"1,2\n,4\n",
       {"t.csv:1 x=1,2", "error t.csv:2:1: column 0 (x): the value is required, got \"\"; give x a default"}},
      {"1,2\n3,4\r",
       {"t.csv:1 x=1,2",
        "error t.csv:2:3: column 1 (x): expected float32, got \"4\\r\"; a CR without LF is not a line end: remove it: "
        "tr -d "
        "'\\r'"}},
      {"1,2\n\"\n3\",\"4\n",
       {"t.csv:1 x=1,2",
        "error t.csv:3:4: unterminated quote: the field that starts here has no closing quote; close it, or set "
        "csv_reader: {quote: none}"}},
      {"1,2\n3,\"4\"5\n",
       {"t.csv:1 x=1,2",
        "error t.csv:2:3: text after a closing quote: expected \",\" or the end of the line, got \"5\"; "
        "double the quotes inside a quoted field"}},
      {"1,2\n \n", {"t.csv:1 x=1,2", "error t.csv:2:1: expected 2 fields, got 1; the first record has 2"}},
      {"a,b\n1,2\n",
       {"error t.csv:1:1: column 0 (x): expected float32, got \"a\"; the line looks like a header: set csv_reader: "
        "{header: true}"}},
      {"1,2\na,3\n", {"t.csv:1 x=1,2", "error t.csv:2:1: column 0 (x): expected float32, got \"a\""}},
      {"1,2\n3,1e39\n",
       {"t.csv:1 x=1,2",
        "error t.csv:2:3: column 1 (x): \"1e39\" is not finite as float32; set decode_csv: "
        "{allow_nonfinite: true}"},
       fields(field("0-1")).set("allow_nonfinite", false)},
  });
}

TEST(DecodeCsv, ReportsTheFirstFaultOfARecord) {
  check({
      {"1,2\nx,\"y\"z,3\n",
       {"t.csv:1 x=1,2",
        "error t.csv:2:3: text after a closing quote: expected \",\" or the end of the line, got \"z\"; "
        "double the quotes inside a quoted field"}},
      {"1,2\nx,y,3\n", {"t.csv:1 x=1,2", "error t.csv:2:1: expected 2 fields, got 3; the first record has 2"}},
      {"1,2\nx,y\n", {"t.csv:1 x=1,2", "error t.csv:2:1: column 0 (x): expected float32, got \"x\""}},
      {"1,2\nx,y\n",
       {"t.csv:1 x=2,1", "error t.csv:2:1: column 0 (x): expected float32, got \"x\""},
       fields(Spec::map().set("columns", list_of({"1", "0"})))},
  });
}

TEST(DecodeCsv, LeavesOutBadRowsWhoseEndIsCertain) {
  const Spec decode = skipping(fields(field("0-1")));
  check({
      {"1,2\nx,3\n4\n5,6,7\n,8\n9\"1,2\n\"3\"4,\"5\"\n6,7\n",
       {"t.csv:1 x=1,2", "bad t.csv:2:1 column 0 (x): expected float32, got \"x\"",
        "bad t.csv:3:1 expected 2 fields, got 1", "bad t.csv:4:1 expected 2 fields, got 3",
        "bad t.csv:5:1 column 0 (x): the value is required, got \"\"", "bad t.csv:6:1 a quote inside an unquoted field",
        "bad t.csv:7:1 text after a closing quote: expected \",\" or the end of the line, got \"4\"", "t.csv:8 x=6,7"},
       decode},
      {"1,2\nx\"y,\"\n\"\n3,4\n",
       {"t.csv:1 x=1,2",
        "error t.csv:2:1: a quote inside an unquoted field; put the whole field in quotes and double the "
        "quotes in it, or set csv_reader: {quote: none}"},
       decode},
      {"1,2\n3,\"4\n",
       {"t.csv:1 x=1,2",
        "error t.csv:2:3: unterminated quote: the field that starts here has no closing quote; close it, or set "
        "csv_reader: {quote: none}"},
       decode},
      {"x\"\n1,2\n", {"bad t.csv:1:1 a quote inside an unquoted field", "t.csv:2 x=1,2"}, decode},
  });
}

TEST(DecodeCsv, GivesTheLimitAndTheFaultyFieldWithEveryBadRow) {
  MemoryFiles files;
  files.files["t.csv"] = "1,2\n3,\"a\"\"b\"\n";
  CsvSetup setup;
  setup.files = &files;
  setup.queue.set("files", "t.csv").set("epochs", 1);
  setup.decode = skipping(fields(field("0-1"))).set("max_bad_rows", 3);
  auto decode = make_op<Transform>("decode_csv", setup.decode);
  CsvRun run(setup);
  const Port& text = run.text_port();
  BindArgs args;
  args.inputs = {&text, 1};
  decode->bind(args);
  Chunk chunk;
  Workspace work;
  Unit unit;
  ASSERT_TRUE(run.reader().next(unit));
  chunk.reset(unit);
  chunk.set_work(&work);
  run.reader().producer().apply(chunk);
  decode->apply(chunk);
  ASSERT_EQ(chunk.notes.size(), 1u);
  const Note& note = chunk.notes[0];
  EXPECT_EQ(note.kind, Note::Kind::bad_row);
  EXPECT_EQ(note.row, 1);
  EXPECT_EQ(note.limit, 3u);
  EXPECT_EQ(note.field, "x");
  EXPECT_EQ(note.value, "a\"b");
  EXPECT_EQ(note.place, (Place{"t.csv", 1, 3})) << "lines count from the chunk's first";
  EXPECT_EQ(chunk.end_record, files.files["t.csv"].size());
  EXPECT_EQ(chunk.lines, 2u);
}

std::string read_all(const std::string& path) {
  std::stringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

std::unique_ptr<Transform> reporting_to(const std::string& path) {
  return make_op<Transform>("decode_csv", skipping(fields(field("0"))).set("bad_rows_file", path));
}

TEST(DecodeCsv, WritesALineForEveryBadRow) {
  const std::string path = testing::TempDir() + "decode_csv_test_bad.jsonl";
  std::ofstream(path) << "what an earlier run left\n";
  {
    const auto decode = reporting_to(path);
    EXPECT_EQ(read_all(path), "what an earlier run left\n") << "until there is a bad row";
    decode->report(bad_row({"d/a.csv", 4, 3}, "column 2 (x): expected float32, got \"a\\nb\"", "x", "a\nb"));
    EXPECT_EQ(read_all(path),
              "{\"v\":1,\"file\":\"d/a.csv\",\"line\":4,\"column\":3,\"field\":\"x\",\"text\":\"a\\nb\","
              "\"reason\":\"column 2 (x): expected float32, got \\\"a\\\\nb\\\"\"}\n")
        << "every line is flushed";
    decode->report(bad_row({"d/a.csv", 1234, 1}, "expected 3 fields, got 2"));
  }
  const std::string all = read_all(path);
  EXPECT_EQ(all.substr(all.find('\n') + 1),
            "{\"v\":1,\"file\":\"d/a.csv\",\"line\":1234,\"column\":1,\"field\":null,\"text\":null,"
            "\"reason\":\"expected 3 fields, got 2\"}\n");
  std::remove(path.c_str());
}

TEST(DecodeCsv, GoesOnBehindTheBadRowsOfAnEarlierRun) {
  const std::string path = testing::TempDir() + "decode_csv_test_resumed.jsonl";
  const auto report = [](Transform& decode, int64_t first, int64_t last) {
    for (int64_t line = first; line <= last; ++line) decode.report(bad_row({"a.csv", line, 1}, "r"));
  };
  report(*reporting_to(path), 1, 6);
  const std::string expected = read_all(path);
  {
    const auto rest = reporting_to(path);
    rest->resume_reports(2);
    report(*rest, 3, 6);
  }
  EXPECT_EQ(read_all(path), expected);
  reporting_to(path)->resume_reports(4);
  EXPECT_EQ(read_all(path), expected.substr(0, expected.size() / 6 * 4)) << "what came later is told again";
  EXPECT_EQ(error_of([&] { reporting_to(path)->resume_reports(5); }),
            path +
                ": the file of bad rows has 4 lines, but 5 were written before the state was saved; give "
                "bad_rows_file another path, or move the file away");
  std::remove(path.c_str());
  const auto gone = reporting_to(path);
  gone->resume_reports(5);
  report(*gone, 6, 6);
  EXPECT_EQ(read_all(path), expected.substr(expected.size() / 6 * 5));
  std::remove(path.c_str());
}

TEST(DecodeCsv, RefusesAFileOfBadRowsThatItCannotWrite) {
  const auto nowhere = reporting_to(testing::TempDir() + "no/such/folder/bad.jsonl");
  EXPECT_TRUE((throws_exactly<IoError>([&] { nowhere->report(bad_row({"a", 1, 1}, "r")); })));
  const auto full = reporting_to("/dev/full");
  EXPECT_EQ(error_of([&] {
              full->report(bad_row({"a", 1, 1}, "r"));
            }),
            "/dev/full: bad_rows_file: cannot write: it exists and is not a regular file");
}

TEST(DecodeCsv, LooksAtTheFileOfBadRowsBeforeTheFirstRow) {
  const std::string pipe = testing::TempDir() + "decode_csv_test_pipe";
  std::remove(pipe.c_str());
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const auto bound = [](const std::string& path) {
    return error_of([&] { run_text("1\n", skipping(fields(field("0"))).set("bad_rows_file", path)); });
  };
  EXPECT_EQ(bound(pipe), pipe + ": bad_rows_file: cannot write: it exists and is not a regular file");
  EXPECT_EQ(bound("no/such/bad.jsonl"),
            "no/such/bad.jsonl: bad_rows_file: cannot write: No such file or directory; make the folder \"no/such\" "
            "first");
  const std::string path = testing::TempDir() + "decode_csv_test_good.jsonl";
  std::remove(path.c_str());
  EXPECT_EQ(bound(path), "no error");
  EXPECT_FALSE(std::ifstream(path)) << "there was no bad row";
  std::remove(pipe.c_str());
}

TEST(DecodeCsv, RefusesRecordsAndLinesThatAreTooLong) {
  const std::string much(16 << 20, '0');
  EXPECT_THAT(run_text(cat("1\n", much, "\n"), fields(field("0"))), ElementsAre("t.csv:1 x=1", "t.csv:2 x=0"));
  EXPECT_THAT(run_text(cat("1\n", much, "0\n"), skipping(fields(field("0")))),
              ElementsAre("t.csv:1 x=1", "error t.csv:2:1: the record is longer than 16777216 bytes"));
  EXPECT_THAT(run_text(cat("1\n#", much, "\n"), fields(field("0")), Spec::map().set("comment", "#")),
              ElementsAre("t.csv:1 x=1", "error t.csv:2:1: the record is longer than 16777216 bytes"));
}

TEST(DecodeCsv, RefusesOptionsThatMakeNoSense) {
  const auto make_error = [](const Spec& with) { return error_of([&] { make_op<Transform>("decode_csv", with); }); };
  EXPECT_THAT(make_error(Spec::map()), HasSubstr("the key fields is required"));
  EXPECT_THAT(make_error(fields(field("0")).set("max_bad_rows", 3)),
              HasSubstr("max_bad_rows: max_bad_rows needs on_bad_row: skip"));
  EXPECT_THAT(make_error(fields(field("0")).set("bad_rows_file", "bad.jsonl")),
              HasSubstr("bad_rows_file: bad_rows_file needs on_bad_row: skip"));
  EXPECT_THAT(make_error(skipping(fields(field("0"))).set("max_bad_rows", -1)), HasSubstr("expected at least 0"));
  EXPECT_THAT(make_error(fields(field("0")).set("on_bad_row", "ignore")), HasSubstr("expected fail or skip"));
  EXPECT_EQ(make_error(skipping(fields(field("0"))).set("max_bad_rows", 0).set("missing", "NA")), "no error");
  EXPECT_EQ(make_error(fields(field("0")).set("missing", Spec::list())), "no error") << "the same as absent";
}

TEST(DecodeCsv, BoundsItsMemory) {
  MemoryFiles files;
  files.files["t.csv"] = "1,2\n";
  CsvSetup setup;
  setup.files = &files;
  setup.queue.set("files", "t.csv");
  setup.decode = fields(field("0-1"));
  CsvRun run(setup);
  auto decode = make_op<Transform>("decode_csv", setup.decode);
  const Port& text = run.text_port();
  BindArgs args;
  args.inputs = {&text, 1};
  decode->bind(args);
  EXPECT_GT(decode->work_bound(), kMaxRecordBytes) << "a record with quotes is copied";
  EXPECT_LT(decode->work_bound(), 3 * kMaxRecordBytes);
}

// Whether a line of a run says what is expected; of an error, also how to mend it.
bool says(const std::string& line, const std::string& expected) {
  return line == expected || (expected.starts_with("error ") && line.starts_with(expected + ';'));
}

// A text that is mostly good, and a way to read it.
struct Fuzz {
  testing_support::ReferenceCsv reference;
  Spec decode, reader;

  explicit Fuzz(std::mt19937_64& random) {
    const auto one_in = [&](uint64_t n) { return random() % n == 0; };
    const size_t columns = 1 + random() % 4;
    const size_t rows = random() % 12;
    const uint64_t trouble = one_in(2) ? 1000 : 12;
    const bool quotes = one_in(2), crlf = one_in(3);
    reference.delimiter = one_in(4) ? ';' : ',';
    reference.quote_byte = one_in(6) ? '\0' : '"';
    reference.comment = one_in(3) ? '#' : '\0';
    reference.skip_blank = !one_in(4);
    reference.header = one_in(3);
    reference.skip_lines = one_in(4) ? static_cast<int>(random() % 3) : 0;
    reference.skip_bad = one_in(2);
    const bool has_default = one_in(2);
    std::vector<size_t> selected;
    for (size_t i = 0; i < columns; ++i) {
      if (i == 0 || one_in(2)) selected.insert(selected.begin(), i);
    }
    testing_support::ReferenceField& field = reference.fields.emplace_back();
    for (const size_t column : selected) field.items.push_back({column, column});
    if (has_default) field.default_values = {"7"};
    std::string& text = reference.files.emplace_back(testing_support::ReferenceFile{"t.csv", ""}).bytes;
    for (size_t row = 0; row < rows; ++row) {
      if (one_in(9)) text += "#\"x,\n";
      if (one_in(9)) text += "\n";
      const size_t fields = columns + (one_in(trouble) ? 1 : 0) - (one_in(trouble) && columns > 1 ? 1 : 0);
      for (size_t i = 0; i < fields; ++i) {
        if (i > 0) text += reference.delimiter;
        text += quotes && one_in(3) ? quoted(random, i < columns) : number(random);
        if (one_in(8 * trouble)) text += "\"x,;\r #"[random() % 7];
      }
      text += crlf ? "\r\n" : "\n";
    }
    if (one_in(3) && !text.empty()) text.pop_back();
    if (one_in(trouble)) text += "\"";
    if (one_in(5)) text = noise(random);
    Spec x = Spec::map().set("columns", list_of(selected));
    if (has_default) x.set("default", 7);
    decode = fields_of(x);
    if (reference.skip_bad) decode.set("on_bad_row", "skip");
    reader = Spec::map()
                 .set("delimiter", std::string(1, reference.delimiter))
                 .set("quote", reference.quote_byte == 0 ? "none" : "\"")
                 .set("comment", reference.comment == 0 ? "none" : "#")
                 .set("blank_lines", reference.skip_blank ? "skip" : "error")
                 .set("header", reference.header)
                 .set("skip_lines", reference.skip_lines);
  }

 private:
  static std::string noise(std::mt19937_64& random) {
    static const std::string kBytes = "11,,;\"\"\n\n\r# ";
    std::string out(random() % 50, ' ');
    for (char& c : out) c = kBytes[random() % kBytes.size()];
    return out;
  }
  static Spec fields_of(const Spec& x) { return Spec::map().set("fields", Spec::map().set("x", x)); }
  static std::string number(std::mt19937_64& random) {
    static const std::vector<std::string> kTexts = {"1",   "-2.5", "3e2", " 4", "5\t", "0.1", "",    "+6",
                                                    "inf", "nan",  "1e9", "7",  "8",   "9",   "10x", "11"};
    return kTexts[random() % (random() % 40 == 0 ? kTexts.size() : 10)];
  }
  // A number in quotes, seldom with a line end or a quote in it.
  static std::string quoted(std::mt19937_64& random, bool) {
    const std::string inner = number(random);
    switch (random() % 12) {
      case 0: return cat("\"", inner, "\n\"");
      case 1: return cat("\"a,\r\n\"\"", inner, "\"");
      default: return cat("\"", inner, "\"");
    }
  }
};

TEST(DecodeCsv, AgreesWithThePlainRulesWhateverTheChunks) {
  std::mt19937_64 random(7);
  int rows = 0, bad = 0, errors = 0, repeated = 0;
  for (int round = 0; round < test::rounds(6000); ++round) {
    Fuzz fuzz(random);
    const std::vector<std::string> expected = fuzz.reference.run();
    MemoryFiles files;
    const std::string& text = files.files["t.csv"] = fuzz.reference.files.front().bytes;
    CsvSetup setup;
    setup.files = &files;
    setup.queue.set("files", "t.csv").set("epochs", 1);
    setup.decode = fuzz.decode;
    std::vector<std::string> whole;
    for (const int64_t chunk_bytes : {262144, 1, 2, 3, 7, 16, 40}) {
      setup.reader = fuzz.reader;
      setup.reader.set("chunk_bytes", chunk_bytes);
      std::unique_ptr<CsvRun> run;
      try {
        run = std::make_unique<CsvRun>(setup);
      } catch (const Error&) {
        ASSERT_TRUE(expected.size() == 1 && expected.front().starts_with("build ")) << quote(text, 1000);
        break;  // a header that is none, or that lacks a column
      }
      const std::vector<std::string> lines = run->run();
      if (whole.empty()) whole = lines;
      ASSERT_EQ(lines, whole) << quote(text, 1000) << " by " << chunk_bytes;
      ASSERT_TRUE(std::equal(lines.begin(), lines.end(), expected.begin(), expected.end(), says))
          << quote(text, 1000) << " by " << chunk_bytes << ": " << ::testing::PrintToString(lines) << ", expected "
          << ::testing::PrintToString(expected);
      repeated += run->repeated;
    }
    for (const std::string& line : whole) (line[0] == 't' ? rows : line[0] == 'b' ? bad : errors) += 1;
  }
  EXPECT_GT(rows, test::rounds(8000));
  EXPECT_GT(bad, test::rounds(1000));
  EXPECT_GT(errors, test::rounds(1000));
  EXPECT_GT(repeated, test::rounds(300)) << "wrong guesses happen, and do not show";
}

}  // namespace
}  // namespace millrace
