// read_json_rows().

#include <gtest/gtest.h>

#include "millrace/cli/serve/row_reader.h"
#include "millrace/input/csv/given_text.h"
#include "tests/support/temp_folder.h"

namespace millrace::cli {
namespace {

const RowKeys& keys() {
  static const RowKeys made(given_text_dialect({"age", "city", "x[0]", "x[1]"}, ""),
                            {{"age", {0}}, {"city", {1}}, {"x", {2, 3}, true}}, {"label"});
  return made;
}
std::string text_of(const std::string& body) { return read_json_rows(keys(), body).text; }
std::string says(const std::string& body) {
  return error_of<DataError>([&] { read_json_rows(keys(), body); });
}

TEST(JsonRows, PutsValuesIntoTheOrderOfTheColumns) {
  const RequestedRows rows = read_json_rows(
      keys(),
      R"([{"age": 31, "city": "Rome", "x": [1, 2]}, {"x": [[null], [-0.50e1]], "label": [1, true], "city": "a\n\"b", "age": "x"}])");
  EXPECT_EQ(rows.text, "31,Rome,1,2\nx,\"a\n\"\"b\",,-0.50e1\n");
  ASSERT_EQ(rows.begins.size(), 2u);
  EXPECT_EQ(rows.begins[1], 12u);
  EXPECT_EQ(text_of("[]"), "");
}

TEST(JsonRows, KeepsNumbersAsTheyStand) {
  EXPECT_EQ(text_of(R"([{"age":-0,"city":12345678901234567890123,"x":[1E5,0.10]}])"),
            "-0,12345678901234567890123,1E5,0.10\n");
  EXPECT_EQ(text_of(R"([{"age": -12 ,"city":18446744073709551615,"x":[0,1]}])"), "-12,18446744073709551615,0,1\n");
}

TEST(JsonRows, WritesOneEmptyValueSoThatItIsNoBlankLine) {
  const RowKeys one(given_text_dialect({"a"}, ""), {{"a", {0}}}, {});
  EXPECT_EQ(read_json_rows(one, R"([{"a": null}, {"a": ""}, {"a": 1}])").text, "\"\"\n\"\"\n1\n");
}

TEST(JsonRows, NamesTheRowAndTheColumn) {
  EXPECT_EQ(says(R"([{"age":1,"city":"","x":[1,2]}, {"agee":1}])"),
            R"(row 1: there is no column "agee"; did you mean "age"?)");
  EXPECT_EQ(says(R"([{"quite":1}])"), R"(row 0: there is no column "quite"; the model reads age, city and x)");
  EXPECT_EQ(says(R"([{"age":1,"x":[1,2]}])"), R"(row 0: the column "city" is missing; give null for a missing value)");
  EXPECT_EQ(says(R"([{"age":1,"age":1}])"), R"(row 0: the column "age" is given twice)");
  EXPECT_EQ(says(R"([{"x":[1]}])"), R"(row 0: the value of "x" has 1 value, expected 2)");
  EXPECT_EQ(says(R"([{"x":1}])"), R"(row 0: the value of "x" is 1, expected a list of 2 values)");
  EXPECT_EQ(
      says(R"([{"age":{}}])"),
      R"(row 0: the value of "age" is an object, expected a number, a text or null; give the text that stands in a CSV file)");
}

TEST(JsonRows, HasNoNameForAColumnThatIsPassedOver) {
  EXPECT_EQ(says("[{\"label\": " + std::string(9, '[')),
            "row 0: the value of a column has lists in lists, more than 8");
  EXPECT_EQ(
      says(R"([{"label": {}}])"),
      "row 0: the value of a column is an object, expected a number, a text or null; give the text that stands in "
      "a CSV file");
}

TEST(JsonRows, WantsAListOfObjects) {
  EXPECT_EQ(says("{}"), R"(the body is an object, expected a list of objects; write [{"column": value, ..}, ..])");
  EXPECT_EQ(says("3"), R"(the body is 3, expected a list of objects; write [{"column": value, ..}, ..])");
  EXPECT_EQ(says("[\"a\"]"), R"(row 0 is "a", expected an object)");
  EXPECT_EQ(says("[[]]"), "row 0 is a list, expected an object");
}

TEST(JsonRows, TellsWhereJsonIsMalformed) {
  EXPECT_EQ(says("[{\"age\": 1,\n  \"city\" 2}]"),
            "malformed JSON at line 2, column 10: unexpected number literal; expected ':'");
  EXPECT_EQ(says(""), "malformed JSON at line 1, column 1: unexpected end of input; expected '[', '{', or a literal");
  EXPECT_EQ(says("[{\"age\": 1e999}]"), "malformed JSON at line 1, column 14: number overflow parsing '1e999'");
  EXPECT_LT(says(cat("[{\"age\": ", std::string(100000, '1'))).size(), 300u);
  EXPECT_LT(says(cat("[\"; expected ", std::string(100000, 'a'))).size(), 300u);
  EXPECT_NE(says(std::string(100000, '[')), "");
  EXPECT_NE(says("[{\"x\": " + std::string(100000, '[')), "");
}

}  // namespace
}  // namespace millrace::cli
