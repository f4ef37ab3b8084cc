#include "millrace/cli/serve/row_writer.h"

#include <gtest/gtest.h>

#include "millrace/input/csv/given_text.h"

namespace millrace::cli {
namespace {

const RowKeys& keys() {
  static const RowKeys made(given_text_dialect({"age", "city"}, ""), {{"age", {0}}, {"city", {1}}}, {"label"});
  return made;
}

TEST(RowWriter, PutsValuesIntoTheOrderOfTheColumns) {
  RowWriter writer(keys());
  RequestedRows out;
  writer.begin();
  EXPECT_TRUE(writer.add(1, "a,b", false));
  EXPECT_TRUE(writer.add(0, "31", true));
  EXPECT_EQ(writer.end(out), std::nullopt);
  writer.begin();
  EXPECT_TRUE(writer.add(0, "", false));
  EXPECT_TRUE(writer.add(1, "\"", false));
  EXPECT_EQ(writer.end(out), std::nullopt);
  EXPECT_EQ(out.text, "31,\"a,b\"\n,\"\"\"\"\n");
  EXPECT_EQ(out.begins, (std::vector<uint64_t>{0, 9}));
}

TEST(RowWriter, TakesEachColumnOnceInEachRow) {
  RowWriter writer(keys());
  RequestedRows out;
  writer.begin();
  EXPECT_TRUE(writer.add(1, "a", false));
  EXPECT_FALSE(writer.add(1, "a", false));
  EXPECT_EQ(writer.end(out), 0u);
  writer.begin();
  EXPECT_TRUE(writer.add(0, "1", true));
  EXPECT_EQ(writer.end(out), 1u);
}

TEST(RowWriter, FindsKeysInAnyOrder) {
  RowWriter writer(keys());
  const auto of_row = [&](std::initializer_list<std::string_view> names) {
    std::vector<size_t> out;
    writer.begin();
    for (const std::string_view name : names) out.push_back(writer.key(name));
    return out;
  };
  using Keys = std::vector<size_t>;
  for (int turn = 0; turn < 2; ++turn) {
    EXPECT_EQ(of_row({"age", "city"}), (Keys{0, 1}));
    EXPECT_EQ(of_row({"city", "age"}), (Keys{1, 0}));
    EXPECT_EQ(of_row({"label", "city", "age"}), (Keys{RowKeys::kUnread, 1, 0}));
    EXPECT_EQ(of_row({"age", "none", "age", "age"}), (Keys{0, RowKeys::kUnknown, 0, 0}));
  }
}

}  // namespace
}  // namespace millrace::cli
