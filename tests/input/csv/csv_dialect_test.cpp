#include "millrace/input/csv/csv_dialect.h"

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
  EXPECT_EQ(number_hint("abc", "abc,2\n", dialect(2, "abc,2\n")), "") << "beside a number";
  for (const std::string line : {"abc,\"2\"\n", "abc,2024-01-31\r\n", "abc,\"Jan 5, 2024\"\n", "5 Jan 2024,abc"}) {
    EXPECT_EQ(number_hint("abc", line, dialect(2, line)), "") << line;
  }
  EXPECT_EQ(number_hint("abc", "\"abc\",\"Jan x\"\n", dialect(2, "\"abc\",\"Jan x\"\n")), kHeader);
  EXPECT_EQ(number_hint("true", "true,false\n", dialect(2, "true,false\n")),
            "truth values are not numbers: write 1 and 0");
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

TEST(Hints, NameWhatCannotBeSeen) {
  EXPECT_EQ(number_hint("\xef\xbb\xbf"
                        "3",
                        "\xef\xbb\xbf"
                        "3,4\n",
                        dialect(2)),
            "it holds a byte order mark (U+FEFF), as when files were joined: remove it");
  EXPECT_EQ(number_hint("\xc2\xa0"
                        "5",
                        "\xc2\xa0"
                        "5\n",
                        dialect(1)),
            "it holds a no-break space (U+00A0): remove it");
  EXPECT_EQ(number_hint("4\r", "3,4\r", dialect(2)), "a CR without LF is not a line end: remove it: tr -d '\\r'");
}

TEST(Hints, NameAFirstLineThatIsNoData) {
  EXPECT_EQ(first_line_hint(dialect(1, "My data\r\n")),
            "is the first line, \"My data\", a title? Set csv_reader: {skip_lines: 1}");
  EXPECT_EQ(first_line_hint(dialect(1, "# made by hand\n")),
            "is the first line a comment? Set csv_reader: {comment: \"#\"}");
  EXPECT_EQ(first_line_hint(dialect(1, "A\x01\n")), "");
  EXPECT_EQ(first_line_hint(dialect(1, "5\n")), "");
  EXPECT_EQ(first_line_hint(dialect(2, "a,b\n")), "");
}

TEST(Hints, FilesThatAreNoTextAsItShouldBe) {
  EXPECT_EQ(encoding_hint("BZh", false), "the file is compressed by bzip2: decompress it first: bzcat FILE > data.csv");
  EXPECT_TRUE(encoding_hint("1,2\r3,4\r").starts_with("the lines end in CR without LF"));
  EXPECT_EQ(encoding_hint(std::string_view("1\0002\r3\r", 6)), "") << "no lines of text";
  for (const char* text : {"", "1,2\n", "1,2\r\n", "1,2\r", "1\r,2\n", "\x1f", "1,2"})
    EXPECT_EQ(encoding_hint(text), "") << text;
}

}  // namespace
}  // namespace millrace
