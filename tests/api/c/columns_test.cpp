#include "millrace/api/c/columns.h"

#include <gtest/gtest.h>

#include "millrace/trainer/files/yaml.h"

namespace millrace::c {
namespace {

using Names = std::vector<std::string>;

RowSpec rows_with(int64_t width, std::optional<char> split = {}) {
  return {{{.name = "x", .shape = Shape{width}, .split = split}}};
}

Names names(const std::string& columns, const RowSpec& rows) {
  const Spec config = parse_yaml(
      "input: [csv_reader: {header: true}, decode_csv: {fields: {x: {columns: " + columns + "}}}]", "c.yaml");
  return columns_of(config, rows).at(0);
}

TEST(CColumns, AreTheNamesThatTheConfigurationHas) {
  EXPECT_EQ(names("[age, \"the fare\"]", rows_with(2)), (Names{"age", "the fare"}));
  EXPECT_EQ(names("age", rows_with(1)), Names{"age"});
  EXPECT_EQ(names("tags", rows_with(0, ' ')), Names{"tags"});
}

TEST(CColumns, NumbersTellNoNames) {
  EXPECT_EQ(names("0-3", rows_with(4)), Names());
  EXPECT_EQ(names("[age, 7]", rows_with(2)), Names());
  EXPECT_EQ(names("3", rows_with(1)), Names());
}

TEST(CColumns, AListOfAnotherLengthTellsNoNames) { EXPECT_EQ(names("[a, b]", rows_with(3)), Names()); }

TEST(CColumns, OtherOpsTellNoNames) {
  for (const char* text : {"input: [synthetic: {features: 4}, batch: {batch_size: 2}]", "input: [memory]", "seed: 1"}) {
    EXPECT_EQ(columns_of(parse_yaml(text, "c.yaml"), rows_with(1)), std::vector<Names>(1)) << text;
  }
}

}  // namespace
}  // namespace millrace::c
