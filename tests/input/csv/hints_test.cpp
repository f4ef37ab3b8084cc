#include "millrace/input/csv/hints.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

constexpr std::string_view kHeader = "the line looks like a header: set csv_reader: {header: true}";

CsvDialect dialect(int64_t columns, std::string first_record = {}) {
  CsvDialect out;
  out.columns = columns;
  out.first_record = std::move(first_record);
  return out;
}

TEST(Hints, NameADelimiter) {
  EXPECT_EQ(delimiter_hint("1;2\n", dialect(1)), "set csv_reader: {delimiter: \";\"}");
  EXPECT_EQ(delimiter_hint("1\t2;3", dialect(1)), "set csv_reader: {delimiter: \";\"}");
  EXPECT_EQ(delimiter_hint("1\t2", dialect(1)), "set csv_reader: {delimiter: \"\\t\"}");
  EXPECT_EQ(delimiter_hint("1|2", dialect(1)), "set csv_reader: {delimiter: \"|\"}");
  EXPECT_EQ(delimiter_hint("1 2", dialect(1)), "set csv_reader: {delimiter: \" \"}");
  EXPECT_EQ(delimiter_hint("one two", dialect(1)), "");
  CsvDialect semicolons = dialect(1);
  semicolons.delimiter = ';';
  EXPECT_EQ(delimiter_hint("1;2", semicolons), "");
  EXPECT_EQ(number_hint("1;2", "1;2\n", dialect(1)), "set csv_reader: {delimiter: \";\"}");
  EXPECT_EQ(number_hint("1;2", "1;2,3\n", dialect(2)), "") << "records that are cut into several";
}

TEST(Hints, NameAHeader) {
  const CsvDialect two = dialect(2, "id,_p\n");
  EXPECT_EQ(number_hint("id", "id,_p\n", two), kHeader);
  EXPECT_EQ(number_hint("_p", "id,_p\n", two), kHeader);
  EXPECT_EQ(number_hint("id", "id,7\n", two), "") << "another record";
  EXPECT_EQ(number_hint("1.5x", "1.5x,2\n", dialect(2, "1.5x,2\n")), "") << "no name";
  CsvDialect named = two;
  named.header = {"id", "_p"};
  EXPECT_EQ(number_hint("id", "id,_p\n", named), "") << "there is one";
}

TEST(Hints, NameAMarkOfMissingValues) {
  EXPECT_EQ(number_hint("NA", "1,NA\n", dialect(2, "1,NA\n")),
            "if it stands for a missing value, set decode_csv: {missing: \"NA\"} and a default");
  EXPECT_EQ(number_hint("Nada", "1,Nada\n", dialect(2)), "");
}

TEST(Hints, FilesThatAreNoTextAsItShouldBe) {
  EXPECT_TRUE(encoding_hint("\x1f\x8b\x08").starts_with("the file is compressed by gzip"));
  EXPECT_TRUE(encoding_hint("\xff\xfe"
                            "1")
                  .starts_with("the file is UTF-16"));
  EXPECT_TRUE(encoding_hint("\xfe\xff").starts_with("the file is UTF-16"));
  EXPECT_TRUE(encoding_hint("1,2\r3,4\r").starts_with("the file has line ends of a CR alone"));
  for (const char* text : {"", "1,2\n", "1,2\r\n", "1,2\r", "1\r,2\n", "\x1f", "1,2"})
    EXPECT_EQ(encoding_hint(text), "") << text;
}

}  // namespace
}  // namespace millrace
