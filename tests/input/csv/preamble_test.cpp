#include "millrace/input/csv/preamble.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/input/op_testing.h"

namespace millrace {
namespace {

using testing_support::error_of;
using testing_support::MemoryFiles;

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
