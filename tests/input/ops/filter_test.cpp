#include "tests/input/graph_check.h"

namespace millrace {
namespace {

using testing_support::error_of;
using testing_support::GraphCheck;
using testing_support::Lines;
using testing_support::MemoryFiles;

class FilterTest : public ::testing::Test {
 protected:
  FilterTest() { files_.files["t.csv"] = "1,0.1,-5\n2,nan,9007199254740993\n3,-inf,0\n4,0.25,9223372036854775807\n"; }
  GraphCheck graph(const std::string& ops) {
    return {files_,
            "- filename_queue: {files: t.csv, epochs: 1}\n- csv_reader: {chunk_bytes: 5}\n"
            "- decode_csv: {fields: {n: {columns: 0, type: int32}, x: {columns: 1}, d: {columns: 1, type: float64}, i: "
            "{columns: 2, type: int64}, both: {columns: 0-1}, b: {columns: 0, type: uint8}}}\n" +
                ops + "- batch: {batch_size: 10, allow_smaller_final_batch: true}\n"};
  }
  // The numbers of the rows that stay.
  std::string kept(const std::string& field, const std::string& op, const std::string& value) {
    std::string out;
    const std::string filter = cat("- filter: {field: ", field, ", op: \"", op, "\", value: ", value, "}\n");
    for (const std::string& line : graph(filter).check()) out += line.substr(6, 1);
    return out;
  }
  MemoryFiles files_;
};

TEST_F(FilterTest, KeepsTheRowsForWhichItHolds) {
  EXPECT_EQ(kept("n", "==", "2"), "2");
  EXPECT_EQ(kept("n", "!=", "2"), "134");
  EXPECT_EQ(kept("n", "<", "3"), "12");
  EXPECT_EQ(kept("n", "<=", "3"), "123");
  EXPECT_EQ(kept("n", ">", "3"), "4");
  EXPECT_EQ(kept("n", ">=", "3"), "34");
  EXPECT_EQ(kept("n", ">=", "2.5"), "34");
  EXPECT_EQ(kept("n", "==", "2.5"), "");
  EXPECT_EQ(kept("b", "<=", "3"), "123");
  EXPECT_EQ(kept("b", ">", "2.5"), "34");
}

TEST_F(FilterTest, ReadsItsValueAsTheField) {
  EXPECT_EQ(kept("x", "==", "0.1"), "1") << "0.1 as float32";
  EXPECT_EQ(kept("d", "==", "0.1"), "1");
  EXPECT_EQ(kept("x", "<", "0.1"), "3");
}

TEST_F(FilterTest, NaNIsUnequalToEverything) {
  EXPECT_EQ(kept("x", "!=", "0.25"), "123");
  EXPECT_EQ(kept("x", ">", "-1e300"), "14") << "beyond float32 it is infinite";
  EXPECT_EQ(kept("x", "<=", "0.25"), "134");
  EXPECT_EQ(kept("x", "==", ".nan"), "");
}

TEST_F(FilterTest, TakesNaNAndInfinitiesAsTheDataSpellThem) {
  EXPECT_EQ(kept("x", "==", "-inf"), "3");
  EXPECT_EQ(kept("x", "<", "Infinity"), "134");
  EXPECT_EQ(kept("x", "!=", "nan"), "1234");
  EXPECT_EQ(kept("n", "<", "inf"), "1234");
}

TEST_F(FilterTest, WarnsOfAValueThatComparesAlikeWithAllRows) {
  const auto warning = [&](const std::string& field, const std::string& op, const std::string& value) {
    const std::string filter = cat("- filter: {field: ", field, ", op: \"", op, "\", value: ", value, "}\n");
    const std::vector<std::string> all = graph(filter).graph().warnings();
    return all.empty() ? std::string() : all.front();
  };
  EXPECT_EQ(warning("n", "<", "2147483648"),
            "filter: the value 2147483648 is out of the range of int32: every row is kept");
  EXPECT_EQ(warning("n", "<", "2147483647"), "");
  EXPECT_EQ(warning("n", ">=", "-2147483648"), "");
  EXPECT_EQ(warning("n", "<", "-2147483649"),
            "filter: the value -2147483649 is out of the range of int32: no row is kept");
  EXPECT_EQ(warning("b", "==", "256"), "filter: the value 256 is out of the range of uint8: no row is kept");
  EXPECT_EQ(warning("b", ">", "-1"), "filter: the value -1 is out of the range of uint8: every row is kept");
  EXPECT_EQ(warning("b", ">=", "0"), "");
  EXPECT_EQ(warning("b", "<", "255"), "");
  EXPECT_EQ(warning("i", "==", "1e19"), "filter: the value 1e19 is out of the range of int64: no row is kept");
  EXPECT_EQ(warning("i", "==", "9223372036854775807"), "");
  EXPECT_EQ(warning("x", "==", "nan"), "filter: the value nan equals nothing: no row is kept");
  EXPECT_EQ(warning("x", "!=", ".nan"), "filter: the value .nan equals nothing: every row is kept");
  EXPECT_EQ(warning("x", "<", "1e300"), "");
}

TEST_F(FilterTest, ComparesLargeIntegersExactly) {
  EXPECT_EQ(kept("i", ">", "9007199254740992"), "24");
  EXPECT_EQ(kept("i", "==", "9007199254740992"), "");
  EXPECT_EQ(kept("i", ">", "-5.5"), "1234");
  EXPECT_EQ(kept("i", "<", "-4.5"), "1");
  EXPECT_EQ(kept("i", "<=", "-4.5"), "1");
  EXPECT_EQ(kept("i", ">=", "-4.5"), "234");
  EXPECT_EQ(kept("i", "<", "1e19"), "1234");
}

TEST_F(FilterTest, ComparesTextsByTheirBytes) {
  files_.files["t.csv"] = "1,abc\n2,ab\n3,b\n4,B\n5,abc\n";
  const auto rows = [&](const std::string& op, const std::string& value) {
    const GraphCheck check = {files_, cat("- filename_queue: {files: t.csv, epochs: 1}\n- csv_reader\n- decode_csv: "
                                          "{fields: {n: {columns: 0}, s: {columns: 1, type: string}}}\n- filter: "
                                          "{field: s, op: \"",
                                          op, "\", value: ", value,
                                          "}\n- batch: {batch_size: "
                                          "10, allow_smaller_final_batch: true}\n")};
    std::string out;
    for (const std::string& line : check.check()) out += line.substr(6, 1);
    return out;
  };
  EXPECT_EQ(rows("==", "abc"), "15");
  EXPECT_EQ(rows("!=", "abc"), "234");
  EXPECT_EQ(rows("<", "abc"), "24");
  EXPECT_EQ(rows(">=", "abc"), "135");
  EXPECT_EQ(rows("==", "3"), "") << "a text, too, where it looks like a number";
}

TEST_F(FilterTest, ComparesIntegersThatNoDoubleHolds) {
  EXPECT_EQ(kept("i", "==", "9007199254740993"), "2");
  EXPECT_EQ(kept("i", "==", "9007199254740992"), "");
  EXPECT_EQ(kept("i", "<", "9223372036854775807"), "123");
  EXPECT_EQ(kept("i", "==", "9223372036854775807"), "4");
  EXPECT_EQ(kept("i", "<", "9.3e18"), "1234");
  EXPECT_EQ(kept("i", "<", "9223372036854775808"), "1234");
  EXPECT_EQ(kept("i", "==", "9223372036854775808"), "");
  EXPECT_EQ(kept("i", ">", "-9.3e18"), "1234");
}

TEST_F(FilterTest, CountsWhatItLeavesOut) {
  EXPECT_EQ(graph("- filter: {field: n, op: \">\", value: 3}\n").dropped(), Lines{"filter 3"});
  EXPECT_EQ(graph("- filter: {name: few, field: n, op: \">\", value: 1}\n- filter: {field: n, op: \"<\", value: 4}\n")
                .dropped(),
            (Lines{"few 1", "filter 1"}));
}

TEST_F(FilterTest, RefusesFieldsThatItCannotCompare) {
  const auto refused = [&](const std::string& field) {
    return error_of([&] { graph(cat("- filter: {field: ", field, ", op: \"<\", value: 0}\n")).graph(); });
  };
  EXPECT_EQ(refused("bot"),
            "input.yaml:4:3: [3]: there is no field \"bot\" in n: int32 (1), x: float32 (1), d: float64 (1), i: int64 "
            "(1), both: float32 (2), b: uint8 (1); did you mean both?");
  EXPECT_EQ(error_of([&] { graph("- filter: {field: n, op: \"<\", value: many}\n").graph(); }),
            "input.yaml:4:38: [3].filter.value: expected a number, got \"many\"");
  EXPECT_EQ(error_of([&] { graph("- filter: {field: n, op: \"<\", value: [1]}\n").graph(); }),
            "input.yaml:4:38: [3].filter.value: expected a value to compare with, got a list");
  EXPECT_EQ(refused("both"), "input.yaml:4:3: [3]: expected a field of 1 column, both is float32 (2)");
}

}  // namespace
}  // namespace millrace
