#include "millrace/input/csv/record_scanner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "millrace/core/text.h"

namespace millrace {
namespace {

CsvDialect dialect() { return {}; }

// "[a][b] 7/1": fields, length and lines; "fault 1 at 4..6, ends at 9": which, the field's start, the byte, the end.
std::string describe(const ScannedRecord& record) {
  std::string out;
  if (record.fault != SyntaxFault::none) {
    out = cat("fault ", static_cast<int>(record.fault), " at ", record.fault_start, "..", record.fault_at);
    return record.certain_end ? cat(out, ", ends at ", record.length) : out;
  }
  for (size_t i = 0; i < record.size(); ++i) out += cat('[', record.field(i), ']');
  return cat(out, ' ', record.length, '/', record.lines);
}

std::string scan(const std::string& text, const CsvDialect& as = dialect()) {
  ScannedRecord record;
  if (!RecordScanner(as).scan(text, true, record)) return "more";
  return describe(record);
}

TEST(RecordScanner, CutsFields) {
  EXPECT_EQ(scan("a,b\nc"), "[a][b] 4/1");
  EXPECT_EQ(scan("a,b"), "[a][b] 3/1") << "a missing last line end";
  EXPECT_EQ(scan("a,b\r\nc"), "[a][b] 5/1");
  EXPECT_EQ(scan("a,\n"), "[a][] 3/1") << "a trailing delimiter";
  EXPECT_EQ(scan("a,"), "[a][] 2/1");
  EXPECT_EQ(scan(",\n"), "[][] 2/1");
  EXPECT_EQ(scan(" a , b \n"), "[ a ][ b ] 8/1") << "blanks are data";
}

TEST(RecordScanner, TakesALoneCarriageReturnForData) {
  EXPECT_EQ(scan("a\rb,c\r\r\nx"), "[a\rb][c\r] 8/1");
  EXPECT_EQ(scan("a,b\r"), "[a][b\r] 4/1") << "it ends the data without a line feed";
}

TEST(RecordScanner, UnquotesFields) {
  EXPECT_EQ(scan("\"a\",b\n"), "[a][b] 6/1");
  EXPECT_EQ(scan("\"a\"\r\nx"), "[a] 5/1");
  EXPECT_EQ(scan("\"a\""), "[a] 3/1");
  EXPECT_EQ(scan("\"\",\"\"\n"), "[][] 6/1");
  EXPECT_EQ(scan("\"a\"\"b\",\"\"\"\"\n"), "[a\"b][\"] 12/1");
  EXPECT_EQ(scan("\"\"\"a\"\"\",\"b\"\"\"\n"), "[\"a\"][b\"] 14/1");
  EXPECT_EQ(scan("\"a,b\n\nc\",d\nx"), "[a,b\n\nc][d] 11/3");
  EXPECT_EQ(scan("\"a\r\n\"\r\nx"), "[a\r\n] 7/2");
}

TEST(RecordScanner, FindsAQuoteInsideAnUnquotedField) {
  EXPECT_EQ(scan("a\"b,c\nd"), "fault 1 at 0..1, ends at 6");
  EXPECT_EQ(scan("x, \"b\"\n"), "fault 1 at 2..3, ends at 7") << "a blank before the quote makes the field unquoted";
  EXPECT_EQ(scan("x,b\""), "fault 1 at 2..3, ends at 4");
}

TEST(RecordScanner, FindsTextBehindAClosingQuote) {
  EXPECT_EQ(scan("\"a\"b,c\nd"), "fault 2 at 0..3, ends at 7");
  EXPECT_EQ(scan("x,\"a\" \nd"), "fault 2 at 2..5, ends at 7") << "blanks, too";
  EXPECT_EQ(scan("\"a\"\rb\n"), "fault 2 at 0..3, ends at 6");
  EXPECT_EQ(scan("\"a\"\r"), "fault 2 at 0..3, ends at 4");
}

TEST(RecordScanner, FindsAnUnterminatedQuote) {
  EXPECT_EQ(scan("a,\"b\nc,d\n"), "fault 3 at 2..2");
  EXPECT_EQ(scan("\""), "fault 3 at 0..0");
  EXPECT_EQ(scan("\"a\"\""), "fault 3 at 0..0");
}

TEST(RecordScanner, IsCertainOfTheEndOnlyWithinOneLine) {
  EXPECT_EQ(scan("a\"b,\"c\",\"d\"x\ne"), "fault 1 at 0..1, ends at 13") << "later faults in turn are skipped";
  EXPECT_EQ(scan("a\"b,\"c\nd\"\ne"), "fault 1 at 0..1") << "a line end inside a later field";
  EXPECT_EQ(scan("\"a\nb\"c,d\ne"), "fault 2 at 0..5") << "a line end inside an earlier field";
  EXPECT_EQ(scan("a\"b,\"c\nd"), "fault 1 at 0..1") << "a later quote that nothing closes";
  EXPECT_EQ(scan("a\"b,\"c"), "fault 1 at 0..1");
}

TEST(RecordScanner, KnowsOtherDialects) {
  CsvDialect other;
  other.delimiter = ';';
  other.quote = '\'';
  EXPECT_EQ(scan("'a;''';b,\"\n", other), "[a;'][b,\"] 11/1");
  other.quote.reset();
  EXPECT_EQ(scan("'a;b\n", other), "['a][b] 5/1") << "without quoting quotes are bytes";
}

TEST(RecordScanner, CountsFieldsBeyondTheColumns) {
  CsvDialect two;
  two.columns = 2;
  ScannedRecord record;
  ASSERT_TRUE(RecordScanner(two).scan("a,\"b\",c,\"\"\"\"\n", true, record));
  EXPECT_EQ(record.size(), 4u);
  EXPECT_EQ(record.field(1), "b");
  EXPECT_EQ(record.length, 13u);
}

TEST(RecordScanner, SaysWhereFieldsStart) {
  ScannedRecord record;
  ASSERT_TRUE(RecordScanner(dialect()).scan("a,\"b\"\"\",c\n", true, record));
  EXPECT_EQ(record.start(0), 0u);
  EXPECT_EQ(record.start(1), 2u);
  EXPECT_EQ(record.start(2), 8u);
}

// Reading in pieces changes nothing: a prefix gives the whole text's answer, or asks for more.
TEST(RecordScanner, GivesTheSameForEveryPrefixOrAsksForMore) {
  std::mt19937_64 random(2);
  const std::string alphabet = "ab,,\"\"\"\n\r";
  for (int round = 0; round < 3000; ++round) {
    std::string text(1 + random() % 14, ' ');
    for (char& c : text) c = alphabet[random() % alphabet.size()];
    const RecordScanner scanner(dialect());
    ScannedRecord whole, part;
    ASSERT_TRUE(scanner.scan(text, true, whole));
    for (size_t size = 0; size < text.size(); ++size) {
      if (scanner.scan(std::string_view(text).substr(0, size), false, part)) {
        ASSERT_EQ(describe(part), describe(whole)) << quote(text) << " at " << size;
      }
    }
  }
}

TEST(RecordScanner, RefusesARecordThatIsTooLong) {
  const RecordScanner scanner(dialect());
  ScannedRecord record;
  std::string text(kMaxRecordBytes, '1');
  ASSERT_TRUE(scanner.scan(text + "\n", true, record));
  EXPECT_EQ(record.fault, SyntaxFault::none);
  ASSERT_TRUE(scanner.scan(text, true, record));
  EXPECT_EQ(record.fault, SyntaxFault::none);
  EXPECT_FALSE(scanner.scan(text, false, record));
  text += '1';
  for (const bool at_end : {false, true}) {
    ASSERT_TRUE(scanner.scan(text, at_end, record));
    EXPECT_EQ(record.fault, SyntaxFault::too_long);
  }
  ASSERT_TRUE(scanner.scan(text + "\n", true, record));
  EXPECT_EQ(record.fault, SyntaxFault::too_long);
  EXPECT_FALSE(record.certain_end);
  text[0] = '"';
  ASSERT_TRUE(scanner.scan(text + "\"\n", true, record));
  EXPECT_EQ(record.fault, SyntaxFault::too_long) << "an open quote that may be closed further on";
}

TEST(LineKind, TellsBlankLinesAndComments) {
  CsvDialect as = dialect();
  as.comment = '#';
  EXPECT_EQ(line_kind("\n1", false, as), LineKind::blank);
  EXPECT_EQ(line_kind("\r\n", false, as), LineKind::blank);
  EXPECT_EQ(line_kind("\r", false, as), LineKind::more);
  EXPECT_EQ(line_kind("\r", true, as), LineKind::record);
  EXPECT_EQ(line_kind("\rx", false, as), LineKind::record);
  EXPECT_EQ(line_kind(" \n", false, as), LineKind::record) << "a line of blanks is a field";
  EXPECT_EQ(line_kind("#\n", false, as), LineKind::comment);
  EXPECT_EQ(line_kind("1", false, as), LineKind::record);
  EXPECT_EQ(line_kind("", false, as), LineKind::more);
  EXPECT_EQ(line_kind("#", true, dialect()), LineKind::record);
}

}  // namespace
}  // namespace millrace
