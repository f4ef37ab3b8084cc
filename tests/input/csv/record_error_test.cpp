#include "millrace/input/csv/record_error.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/input/op_testing.h"
#include "tests/input/string_text.h"

namespace millrace {
namespace {

using testing_support::StringText;

struct Setup {
  std::vector<std::string> header = {};
  std::vector<std::string> missing = {};
  const char* type = "float32";
  const char* columns = "0-1";
  bool allow_nonfinite = true;
  std::string first_record = {};
  int64_t field_count = 3;
  const char* format = nullptr;
};

// "line:column message; hint" of the first record of `text` that is wrong.
std::string error_of(const std::string& text, const Setup& setup = {}) {
  CsvDialect dialect;
  dialect.columns = setup.field_count;
  dialect.header = setup.header;
  dialect.first_record = setup.first_record;
  Spec x = Spec::map().set("columns", setup.columns).set("type", setup.type);
  if (setup.format != nullptr) x.set("format", setup.format);
  const Spec fields = Spec::map().set("x", std::move(x));
  const RowConverter converter(select_fields(read_fields(fields, true), dialect),
                               {setup.missing, setup.allow_nonfinite});
  CutterScratch scratch;
  StringText whole(text);
  RecordCutter cutter(dialect, whole, 0, scratch);
  while (cutter.next()) {
    const Record& record = cutter.record();
    RecordError error;
    if (record.fault() != SyntaxFault::none) {
      error = syntax_error(record, dialect);
    } else if (record.size() != static_cast<size_t>(dialect.columns)) {
      error = field_count_error(record, dialect);
    } else if (const BadValue bad = converter.find_fault(record); bad.fault != ValueFault::none) {
      error = value_error(record, bad, converter, dialect);
    } else {
      continue;
    }
    return cat(error.line, ':', error.column, ' ', error.message, error.hint.empty() ? "" : "; ", error.hint);
  }
  return "no error";
}

TEST(RecordError, SaysWhatIsWrongWithTheQuotes) {
  EXPECT_EQ(error_of("1,2,3\n1,a\"b,3\n"),
            "1:3 a quote inside an unquoted field; put the whole field in quotes and double the quotes in it, or set "
            "csv_reader: {quote: none}");
  EXPECT_EQ(
      error_of("1,\"a\"b,3\n"),
      "0:3 text after a closing quote: expected \",\" or the end of the line, got \"b\"; double the quotes inside a "
      "quoted field");
  EXPECT_EQ(error_of("1,2,3\n\"a\nb\",c,\"d\ne\n"),
            "2:6 unterminated quote: the field that starts here has no closing quote; close it, or set csv_reader: "
            "{quote: none}");
  EXPECT_EQ(error_of("1,\"a\" ,3\n"),
            "0:3 text after a closing quote: expected \",\" or the end of the line, got \" \"; remove the blank after "
            "the quote");
  EXPECT_EQ(error_of("1,\"a\\\"b\",3\n"),
            "0:3 text after a closing quote: expected \",\" or the end of the line, got \"b\"; a backslash escapes "
            "nothing: double the quotes inside a quoted field");
  EXPECT_EQ(
      error_of("\"a\nb\",\"c\"d,3\n"),
      "0:4 text after a closing quote, on line 2 of the record: expected \",\" or the end of the line, got \"d\"; "
      "double the quotes inside a quoted field");
}

TEST(RecordError, NamesATypeForNumbersThatAreNotWhole) {
  EXPECT_EQ(error_of("1,1.0,3\n", {.type = "int32"}),
            "0:3 column 1 (x): expected int32, got \"1.0\"; set type: float32 or float64 for x, unless it holds "
            "classes or ids");
  EXPECT_EQ(error_of("1,nan,3\n", {.type = "int32"}),
            "0:3 column 1 (x): expected int32, got \"nan\"; set type: float32 or float64 for x, unless it holds "
            "classes or ids");
  EXPECT_EQ(error_of("1,1.0x,3\n", {.type = "int32"}), "0:3 column 1 (x): expected int32, got \"1.0x\"");
  EXPECT_EQ(
      error_of("1,0.5,3\n", {.type = "uint8"}),
      "0:3 column 1 (x): expected uint8, got \"0.5\"; set type: float32 or float64 for x, unless it holds classes "
      "or ids");
}

TEST(RecordError, SaysThatARecordIsTooLong) {
  const std::string long_text(kMaxRecordBytes, 'x');
  EXPECT_EQ(error_of(cat("1,2,3\n", long_text, "x\n")), "1:1 the record is longer than 16777216 bytes");
  EXPECT_EQ(
      error_of(cat("1,2,3\n1,\"\n\n", long_text)),
      "1:1 the record is longer than 16777216 bytes; a quote that is never closed? The last one opens on line 1 of "
      "the record");
}

TEST(RecordError, SaysHowManyFieldsThereAre) {
  EXPECT_EQ(error_of("1,2,3\n1,2\n"), "1:1 expected 3 fields, got 2; the first record has 3");
  EXPECT_EQ(error_of("1,2,3,\n"), "0:1 expected 3 fields, got 4; the first record has 3");
  EXPECT_EQ(error_of("1\n", {.header = {"a", "b", "c"}}), "0:1 expected 3 fields, got 1; the header has 3");
  EXPECT_EQ(error_of("1,2\n", {.columns = "0", .field_count = 1}),
            "0:1 expected 1 field, got 2; the first record has 1");
}

TEST(RecordError, SaysWhatIsWrongWithAValue) {
  EXPECT_EQ(error_of("1,2,3\n1,abc,3\n"), "1:3 column 1 (x): expected float32, got \"abc\"");
  EXPECT_EQ(error_of("1,2,3\n1,abc,3\n", {.header = {"a", "b", "c"}}),
            "1:3 column 1 \"b\" (x): expected float32, got \"abc\"");
  EXPECT_EQ(error_of("1,\" x\ny\",3\n"), "0:3 column 1 (x): expected float32, got \" x\\ny\"");
  EXPECT_EQ(error_of("1,,3\n"), "0:3 column 1 (x): the value is required, got \"\"; give x a default");
  EXPECT_EQ(error_of("NA,2,3\n", {.missing = {"NA"}}),
            "0:1 column 0 (x): the value is required, got \"NA\"; give x a default");
  EXPECT_EQ(error_of("1,99999999999,3\n", {.type = "int32"}),
            "0:3 column 1 (x): \"99999999999\" is out of the range of int32; set type: int64 or float64 for x");
  EXPECT_EQ(error_of("1,99999999999999999999,3\n", {.type = "int64"}),
            "0:3 column 1 (x): \"99999999999999999999\" is out of the range of int64");
  EXPECT_EQ(error_of("1,256,3\n", {.type = "uint8"}),
            "0:3 column 1 (x): \"256\" is out of the range of uint8; set type: int32 for x");
  EXPECT_EQ(error_of("1,1e39,3\n", {.allow_nonfinite = false}),
            "0:3 column 1 (x): \"1e39\" is not finite as float32; set decode_csv: {allow_nonfinite: true}");
}

TEST(RecordError, SaysWhatIsWrongWithADate) {
  const char* const day_first = "%d/%m/%Y";
  EXPECT_EQ(error_of("2024-01-31,2023-02-29,3\n", {.type = "date"}),
            "0:12 column 1 (x): expected date as YYYY-MM-DD, got \"2023-02-29\"; there is no such day");
  EXPECT_EQ(error_of("31/12/2024,12/31/2024,3\n", {.type = "date", .format = day_first}),
            "0:12 column 1 (x): expected date as \"%d/%m/%Y\", got \"12/31/2024\"; set type: date, format: "
            "\"%m/%d/%Y\"");
  EXPECT_EQ(error_of("a,b,c\n31/12/2024,1,3\n", {.header = {"a", "b", "c"}, .type = "timestamp"}),
            "0:1 column 0 \"a\" (x): expected timestamp as YYYY-MM-DDTHH:MM:SS, got \"a\"");
  EXPECT_EQ(error_of("1,2,31/12/2024\n", {.type = "timestamp", .columns = "2"}),
            "0:5 column 2 (x): expected timestamp as YYYY-MM-DDTHH:MM:SS, got \"31/12/2024\"; set type: date, format: "
            "\"%d/%m/%Y\"");
  EXPECT_EQ(
      error_of("NA,2,3\n", {.type = "date", .columns = "0"}),
      "0:1 column 0 (x): expected date as YYYY-MM-DD, got \"NA\"; if it stands for a missing value, set decode_csv: "
      "{missing: \"NA\"} and a default");
  EXPECT_EQ(error_of(",2,3\n", {.type = "date", .columns = "0"}),
            "0:1 column 0 (x): the value is required, got \"\"; give x a default");
  EXPECT_EQ(
      error_of("1700000000,2,3\n", {.type = "timestamp", .columns = "0"}),
      "0:1 column 0 (x): expected timestamp as YYYY-MM-DDTHH:MM:SS, got \"1700000000\"; for seconds since 1970, set "
      "type: float64 or int64");
  EXPECT_EQ(
      error_of("sold,b,c\n", {.type = "date", .columns = "0", .first_record = "sold,b,c\n"}),
      "0:1 column 0 (x): expected date as YYYY-MM-DD, got \"sold\"; the line looks like a header: set csv_reader: "
      "{header: true}");
}

TEST(RecordError, SaysWhatReadsADateAmongNumbers) {
  const std::string line = "\"Jan 5, 2024\",b,c\n";
  EXPECT_EQ(error_of(line, {.columns = "0", .first_record = line}),
            "0:1 column 0 (x): expected float32, got \"Jan 5, 2024\"; set type: date, format: \"%b %d, %Y\"");
  EXPECT_EQ(error_of(line, {.columns = "1", .first_record = line}), "0:15 column 1 (x): expected float32, got \"b\"");
}

TEST(RecordError, NamesTheRecordsLineAndDescribesTheOneBelow) {
  EXPECT_EQ(error_of("1,2,3\n\"1\n\",x,3\n"), "1:1 column 0 (x): expected float32, got \"1\\n\"");
  EXPECT_EQ(error_of("1,2,3\n0,2,\"\n\"\n9,2,\"a\nb\"\n1,\"\n\",x\n", {.columns = "2"}),
            "1:5 column 2 (x): expected float32, got \"\\n\"");
  EXPECT_EQ(error_of("\"\n\n\", 7,x\n", {.columns = "2"}),
            "0:6 column 2 (x), on line 3 of the record: expected float32, got \"x\"");
}

TEST(RecordError, Hints) {
  EXPECT_EQ(
      error_of("id,price,n\n", {.first_record = "id,price,n\n"}),
      "0:1 column 0 (x): expected float32, got \"id\"; the line looks like a header: set csv_reader: {header: true}");
  EXPECT_EQ(error_of("1;2;3\n", {.columns = "0", .field_count = 1}),
            "0:1 column 0 (x): expected float32, got \"1;2;3\"; set csv_reader: {delimiter: \";\"}");
}

TEST(RecordError, AFileThatIsNoTextExplainsMore) {
  EXPECT_NE(error_of("\x1f\x8b\x08,\"\n").find("; the file is compressed by gzip"), std::string::npos);
  EXPECT_NE(error_of("1,2,3\r4,5,6\r").find("; the lines end in CR without LF"), std::string::npos);
  EXPECT_NE(error_of("1,2,3\nx,2,3\n", {.first_record = "\xff\xfe"
                                                        "1"})
                .find("; the file is UTF-16"),
            std::string::npos);
}

TEST(RecordError, CarriesTheFieldAndItsText) {
  CsvDialect dialect;
  dialect.columns = 1;
  const Spec fields = Spec::map().set("price", Spec::map().set("columns", "0"));
  const RowConverter converter(select_fields(read_fields(fields, true), dialect), {});
  CutterScratch scratch;
  StringText whole("\"a\"\"b\"\n");
  RecordCutter cutter(dialect, whole, 0, scratch);
  ASSERT_TRUE(cutter.next());
  const RecordError error = value_error(cutter.record(), converter.find_fault(cutter.record()), converter, dialect);
  EXPECT_EQ(error.field, "price");
  EXPECT_EQ(error.value, "a\"b");
  EXPECT_TRUE(error.certain_end);
}

}  // namespace
}  // namespace millrace
