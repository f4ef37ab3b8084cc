#include "millrace/cli/init/data_look.h"

#include <gtest/gtest.h>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

CsvForm form_of(const std::string& text, const std::string& label = {}, bool whole = true) {
  return sniff_csv({.head = text, .whole = whole, .path = "d.csv", .label = label});
}

// "3 columns by ; with a header, 1 line above".
std::string text_of(const CsvForm& form) {
  std::string out = cat(form.columns, " by ", form.delimiter == '\t' ? "tab" : std::string(1, form.delimiter));
  for (size_t i = 0; i < form.names.size(); ++i) out += cat(i == 0 ? " named " : ",", form.names[i]);
  if (form.skip_lines > 0) out += cat(" behind ", form.skip_lines);
  return form.quotes ? out : out + " without quotes";
}

TEST(Sniff, FindsTheDelimiter) {
  EXPECT_EQ(text_of(form_of("a,b,c\n1,2,3\n4,5,6\n")), "3 by , named a,b,c");
  EXPECT_EQ(text_of(form_of("a;b\n1;2\n3;4\n")), "2 by ; named a,b");
  EXPECT_EQ(text_of(form_of("a\tb\r\n1\t2\r\n3\t4\r\n")), "2 by tab named a,b");
  EXPECT_EQ(text_of(form_of("a|b\n1|2\n")), "2 by | named a,b");
  EXPECT_EQ(text_of(form_of("name;note\n1;\"a, b, c\"\n2;d, e\n")), "2 by ; named name,note");
  EXPECT_EQ(text_of(form_of("tags,n\na;b,1\nc;d,2\n")), "2 by , named tags,n");
  EXPECT_EQ(text_of(form_of("y\n1\n2\n")), "1 by , named y");
  EXPECT_EQ(text_of(sniff_csv({.head = "a b\n1 2\n", .whole = true, .path = "d.csv", .delimiter = ' '})),
            "2 by   named a,b");
}

TEST(Sniff, ACommaBetweenDigitsIsPartOfANumberWhereSomethingElseCuts) {
  EXPECT_EQ(text_of(form_of("1,5;2,25;a\n3,5;4,75;b\n")), "3 by ;");
}

TEST(Sniff, TellsHeadersFromRows) {
  EXPECT_TRUE(form_of("x,y\n1,a\n2,b\n").header);
  EXPECT_FALSE(form_of("1,a\n2,b\n").header);
  EXPECT_FALSE(form_of("red,a\nblue,b\nred,b\nblue,a\n").header) << "its texts come again below it";
  EXPECT_TRUE(form_of("color,kind\nred,b\nblue,b\nred,a\n").header);
  EXPECT_TRUE(form_of("0,1,2\n5,6,7\n8,9,7\n").header) << "as programs number columns";
  EXPECT_TRUE(form_of("city,2010,2011\na,1,2\n", "2011").header) << "the label is named";
  EXPECT_FALSE(form_of("1,0\n2,1\n", "1").header) << "the label may be a column's number";
  EXPECT_TRUE(form_of(",a,b\n0,1.5,2\n1,2.5,3\n").header) << "a column without a name";
  EXPECT_FALSE(form_of("a,a\n1,2\n").header) << "no names that are twice, unless the label says so";
  EXPECT_TRUE(form_of("a,a,y\n1,2,3\n", "y").header);
  EXPECT_FALSE(
      sniff_csv({.head = "a,b\n1,2\n", .whole = true, .path = "d.csv", .delimiter = {}, .header = false}).header);
}

TEST(Sniff, PassesAMarkBlankLinesAndLinesAboveTheTable) {
  EXPECT_EQ(text_of(form_of("\xef\xbb\xbf"
                            "a,b\n1,2\n")),
            "2 by , named a,b");
  EXPECT_EQ(text_of(form_of("\n\r\na,b\n\n1,2\n")), "2 by , named a,b");
  EXPECT_EQ(text_of(form_of("exported on Monday\n\na;b;c\n1;2;3\n4;5;6\n7;8;9\n")), "3 by ; named a,b,c behind 2");
}

TEST(Sniff, PassesTitlesThatHaveTheDelimitersOfTheTable) {
  const std::string text = "Table 1,,\nas of,2024,\n,,\nregion,value,y\nA,1,2\nB,3,4\n\"Notes\",,\n";
  EXPECT_EQ(text_of(form_of(text, "y")), "3 by , named region,value,y behind 3");
  EXPECT_EQ(text_of(form_of(text, "2")), "3 by ,") << "nothing tells which line is the header";
  EXPECT_EQ(text_of(form_of("1,5,3\nx,y,z\n4,5,6\n", "y")), "3 by ,") << "a row stands above it";
}

TEST(Sniff, SaysHowOtherQuotesAreMended) {
  const std::string error =
      "d.csv:1:1: blanks stand before quotes, or backslashes before quotes inside a field, so they do not quote; mend "
      "them: "
      "sed 's/\\\\\"/\"\"/g; s/,  *\"/,\"/g' FILE > NEW";
  EXPECT_EQ(error_of<DataError>([] { form_of("\"a\",\"y\"\n\"say \\\"hi\\\" 1\",\"p\"\n\"3\",\"q\"\n"); }), error);
  EXPECT_EQ(error_of<DataError>([] { form_of("\"a\", \"b\", \"y\"\n\"1\", \"2\", \"hi\"\n\"3\", \"4\", \"lo\"\n"); }),
            error);
}

TEST(Sniff, TakesALineThatNamesTheDelimiter) {
  EXPECT_EQ(text_of(form_of("sep=;\r\na;b;c\r\n1;2;3\r\n")), "3 by ; named a,b,c behind 1");
  EXPECT_EQ(text_of(form_of("sep=|\n1|2,5\n3|4,5\n")), "2 by | behind 1");
}

TEST(Sniff, TakesQuotesAsTheyAre) {
  EXPECT_EQ(text_of(form_of("a,b\n\"x\ny\",1\n\"z \"\"w\"\"\",2\n")), "2 by , named a,b");
  EXPECT_EQ(text_of(form_of("a,b\n\"big\" one,1\n\"small\" one,2\nplain,3\n")), "2 by , named a,b without quotes");
}

TEST(Sniff, TheLastRecordOfAPartMayBeCutOff) {
  EXPECT_EQ(text_of(form_of("a,b,c\n1,2,3\n4,", {}, false)), "3 by , named a,b,c");
  EXPECT_EQ(text_of(form_of("a,b,c\n1,2,3\n4,\"un", {}, false)), "3 by , named a,b,c");
}

TEST(Sniff, RefusesWhatIsNoTable) {
  const auto error = [](const std::string& text) { return error_of<DataError>([&] { form_of(text); }); };
  EXPECT_EQ(error(""), "d.csv:1:1: the file has no rows; init learns from rows: give it a file that has some");
  EXPECT_EQ(error("a,b,c\n"),
            "d.csv:1:1: the file has a header but no rows; init learns from rows: give it a file that has some");
  EXPECT_EQ(
      error("\x1f\x8b\x08"),
      "d.csv:1:1: this is not CSV text; the file is compressed by gzip: decompress it first: zcat FILE > data.csv")
      << "standard input would not be taken";
  EXPECT_NE(error(std::string("\0\0\x08\x03\0\0\r\n", 8)).find("the file is in the IDX format"), std::string::npos);
  EXPECT_NE(error(std::string("a,b\n\0\0,c\n", 9)).find("NUL bytes"), std::string::npos);
  EXPECT_EQ(error("a,b,y\n\"1\",1,2,0\n\"1\",2,3,1\n\"1\",3,4,1\n"),
            "d.csv:1:1: this record has 3 fields, most records below it have 4; give every column a name, also a "
            "column of row names; a delimiter at the end of a record begins another column");
}

TEST(Sniff, TakesAHeaderWithoutANameForTheNamesOfRows) {
  for (const char* text :
       {"\"x\"\t\"y\"\n\"r1\"\t1\t2\n\"r2\"\t3\t4\n\"r3\"\t5\t6\n", "x\ty\n1\t1\t2\n2\t3\t4\n3\t5\t6\n"}) {
    const CsvForm form = sniff_csv({.head = text, .whole = true, .path = "a.csv", .label = "y"});
    EXPECT_TRUE(form.row_names);
    EXPECT_FALSE(form.header);
    EXPECT_EQ(form.skip_lines, 1);
    EXPECT_EQ(form.names, (std::vector<std::string>{"", "x", "y"}));
  }
  EXPECT_FALSE(form_of(",x,y\nr1,1,2\nr2,3,4\n").row_names) << "the header has an empty name there";
}

// One name too few for another reason than that rows have names.
TEST(Sniff, RefusesAHeaderThatIsShortForAnotherReason) {
  const auto error = [](std::string_view text, const char* label) {
    return error_of<DataError>([&] { sniff_csv({.head = text, .whole = true, .path = "a.csv", .label = label}); });
  };
  // A title with a comma above the header; a comma that is not quoted; other quotes; a comma that is lost.
  for (const char* text :
       {"Sales, Europe\nid,amount,kind\n10,0.8,b\n12,0.9,a\n15,0.7,b\n",
        "name,age,kind\nDoe0, John,20,b\nDoe1, Jane,30,a\nDoe2, Jim,40,b\n", "x,y,kind\n1,'0,0','a'\n2,'0,1','b'\n",
        "id,age income,kind\n1,20,3,a\n2,30,4,b\n3,40,5,a\n", "x,y,kind\n17,1,2,a\n12,3,4,b\n19,5,6,a\n"}) {
    EXPECT_NE(error(text, "kind").find("most records below it have"), std::string::npos) << text;
  }
  EXPECT_NE(error("Sales, Europe\nid,amount,kind\na,0.8,b\nb,0.9,a\nc,0.7,b\n", "2").find("most records below it"),
            std::string::npos);
}

TEST(Sniff, ATitleThatIsCalledAsTheLabelIsNoHeader) {
  const CsvForm form = sniff_csv(
      {.head = "Price,,\n,,\nid,area,Price\n1,2,3\n2,3,4\n", .whole = true, .path = "a.csv", .label = "Price"});
  EXPECT_EQ(form.names, (std::vector<std::string>{"id", "area", "Price"}));
  // A header that lacks names is none of a sheet's titles.
  const CsvForm lacking =
      sniff_csv({.head = ",x,spam\nr1,1,spam\nr2,2,ham\n", .whole = true, .path = "a.csv", .label = "spam"});
  EXPECT_EQ(lacking.names, (std::vector<std::string>{"", "x", "spam"}));
}

TEST(Sniff, SaysHowFieldsBetweenBlanksAreRead) {
  const auto hint = [](std::string_view text) {
    return sniff_csv({.head = text, .whole = true, .path = "a.csv"}).blanks_hint;
  };
  EXPECT_EQ(hint("x y\n1 2\n3 4\n"), "fields seem to end at blanks: --delimiter ' '");
  EXPECT_EQ(hint("x   y\n 1  2\n13  4 \n"),
            "fields seem to end at runs of blanks, make each run one blank: sed 's/^ *//; s/ *$//; s/  */ /g' FILE > "
            "NEW; then "
            "--delimiter ' '");
  EXPECT_EQ(hint("note\none two\nthree\n"), "");
  EXPECT_EQ(error_of<DataError>([] { form_of("\"x\" \"y\"\n\"1\" 2 3\n\"2\" 4 5\n"); }),
            "d.csv:1:1: the first record cannot be cut into fields; fields seem to end at blanks: --delimiter ' '")
      << "as R writes a table";
  EXPECT_EQ(hint("x,y z\n1,2 3\n"), "");
}

}  // namespace
}  // namespace millrace
