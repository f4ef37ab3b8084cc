#include "millrace/input/csv/record_cutter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "millrace/core/text.h"
#include "tests/input/string_text.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing_support::StringText;

std::string describe(const Record& record) {
  std::string out = cat(record.offset, '+', record.bytes.size(), " line ", record.line, '+', record.lines, ' ');
  if (record.kind == Record::Kind::blank) return out + "blank";
  if (record.fault() != SyntaxFault::none) return cat(out, "fault ", static_cast<int>(record.fault()));
  for (size_t i = 0; i < record.size(); ++i) out += cat(record.start(i), '[', record.field(i), ']');
  return out;
}

std::vector<std::string> cut(const CsvDialect& dialect, ChunkText& text, CutterScratch& scratch) {
  RecordCutter cutter(dialect, text, 0, scratch);
  std::vector<std::string> out;
  while (cutter.next()) {
    out.push_back(describe(cutter.record()));
    const bool known = cutter.record().fault() == SyntaxFault::none || cutter.record().scanned->certain_end;
    if (!known) return out;
  }
  out.push_back(cat("end ", cutter.end_offset(), " lines ", cutter.lines()));
  return out;
}

std::vector<std::string> cut(const std::string& text, const CsvDialect& dialect = {}) {
  CutterScratch scratch;
  StringText whole(text);
  return cut(dialect, whole, scratch);
}

TEST(RecordCutter, CutsRecordsWithAndWithoutQuotes) {
  EXPECT_THAT(cut("1,22\n\"a\nb\",c\r\n,\r\n3,4"),
              ElementsAre("0+5 line 0+1 0[1]2[22]", "5+9 line 1+2 0[a\nb]6[c]", "14+3 line 3+1 0[]1[]",
                          "17+3 line 4+1 0[3]2[4]", "end 20 lines 5"));
}

TEST(RecordCutter, PassesOverBlankLinesAndComments) {
  CsvDialect dialect;
  dialect.comment = '#';
  EXPECT_THAT(cut("\n#\"x,\n1\n\r\n#\n \n#end", dialect),
              ElementsAre("6+2 line 2+1 0[1]", "12+2 line 5+1 0[ ]", "end 18 lines 7"));
  dialect.skip_blank_lines = false;
  EXPECT_THAT(cut("1\n\n\r\n", dialect),
              ElementsAre("0+2 line 0+1 0[1]", "2+1 line 1+1 blank", "3+2 line 2+1 blank", "end 5 lines 3"));
}

TEST(RecordCutter, StopsAtTheLimit) {
  CutterScratch scratch;
  StringText text("1\n2\n3\n", 100, 102);
  EXPECT_THAT(cut({}, text, scratch), ElementsAre("100+2 line 0+1 0[1]", "end 102 lines 1"));
  StringText within("1\n2\n3\n", 100, 103);
  EXPECT_THAT(cut({}, within, scratch), ElementsAre("100+2 line 0+1 0[1]", "102+2 line 1+1 0[2]", "end 104 lines 2"));
  StringText none("", 100, 100);
  EXPECT_THAT(cut({}, none, scratch), ElementsAre("end 100 lines 0"));
}

TEST(RecordCutter, GoesOnBehindAFaultWhoseEndIsCertain) {
  EXPECT_THAT(cut("a\"b\n1\n"), ElementsAre("0+4 line 0+1 fault 1", "4+2 line 1+1 0[1]", "end 6 lines 2"));
  EXPECT_THAT(cut("1\n\"a\n"), ElementsAre("0+2 line 0+1 0[1]", "2+0 line 1+0 fault 3"));
}

TEST(RecordCutter, CountsFieldsThatItDoesNotHold) {
  CsvDialect dialect;
  dialect.columns = 2;
  const std::string many(100000, ',');
  CutterScratch scratch;
  StringText text("1,2\n" + many + "\n\"\"" + many + "\n3,4\n");
  RecordCutter cutter(dialect, text, 0, scratch);
  std::vector<size_t> sizes;
  while (cutter.next()) sizes.push_back(cutter.record().size());
  EXPECT_THAT(sizes, ElementsAre(2, 100001, 100001, 2));
  EXPECT_EQ(cutter.record().field(1), "4");
  EXPECT_LT(scratch.index.separator_count(), 20000u) << "no more than a window";
}

TEST(RecordCutter, RefusesLinesThatAreTooLong) {
  CsvDialect dialect;
  dialect.comment = '#';
  const std::string most(kMaxRecordBytes, '7');
  const auto fault_of = [&](const std::string& text) {
    CutterScratch scratch;
    StringText pieces(text, 0, text.size(), 5 << 20);
    RecordCutter cutter(dialect, pieces, 0, scratch);
    return cutter.next() ? static_cast<int>(cutter.record().fault()) : -1;
  };
  const int good = static_cast<int>(SyntaxFault::none), too_long = static_cast<int>(SyntaxFault::too_long);
  EXPECT_EQ(fault_of(most), good);
  EXPECT_EQ(fault_of(most + "\n1"), good);
  EXPECT_EQ(fault_of(most + "7"), too_long);
  EXPECT_EQ(fault_of(most + "7\n1"), too_long);
  EXPECT_EQ(fault_of(most + "\r\n1"), too_long) << "the carriage return counts, as on the exact path";
  EXPECT_EQ(fault_of(cat("\"", most)), too_long);
  EXPECT_EQ(fault_of(cat("#", most, "\n")), too_long);
  EXPECT_EQ(fault_of(cat("#", most.substr(1), "\n")), -1);
}

// The fast path gives what the exact one does, whatever the pieces in which the text comes.
TEST(RecordCutter, AgreesWithTheScannerAlone) {
  std::mt19937_64 random(5);
  const std::string alphabet = "12,,,\n\n\"\"\r# ";
  CutterScratch scratch;
  for (int round = 0; round < 4000; ++round) {
    std::string text(random() % 60, ' ');
    for (char& c : text) c = alphabet[random() % alphabet.size()];
    if (round % 3 != 0) std::erase(text, '"');
    CsvDialect dialect;
    if (random() % 2 == 0) dialect.comment = '#';
    if (random() % 4 == 0) dialect.quote.reset();
    dialect.skip_blank_lines = random() % 2 == 0;
    const size_t limit = random() % (text.size() + 1);

    std::vector<std::string> expected;
    size_t at = 0;
    uint64_t line = 0;
    ScannedRecord scanned;
    bool known = true;
    while (known && at < limit) {
      const std::string_view rest = std::string_view(text).substr(at);
      const LineKind kind = line_kind(rest, true, dialect);
      Record record = {.offset = at, .line = line, .lines = 1};
      if (kind == LineKind::record) {
        ASSERT_TRUE(RecordScanner(dialect).scan(rest, true, scanned));
        known = scanned.fault == SyntaxFault::none || scanned.certain_end;
        record.kind = Record::Kind::scanned;
        record.scanned = &scanned;
        record.lines = known ? scanned.lines : 0;
        record.bytes = rest.substr(0, known ? scanned.length : 0);
      } else {
        record.kind = Record::Kind::blank;
        record.bytes = rest.substr(0, std::min(rest.find('\n'), rest.size() - 1) + 1);
      }
      if (kind == LineKind::record || (kind == LineKind::blank && !dialect.skip_blank_lines)) {
        expected.push_back(describe(record));
      }
      at += record.bytes.size();
      line += record.lines;
    }
    if (known) expected.push_back(cat("end ", at, " lines ", line));

    StringText pieces(text, 0, limit, 1 + random() % 9);
    ASSERT_EQ(cut(dialect, pieces, scratch), expected) << quote(text);
  }
}

}  // namespace
}  // namespace millrace
