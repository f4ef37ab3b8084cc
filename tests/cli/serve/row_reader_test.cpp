#include "millrace/cli/serve/row_reader.h"

#include <gtest/gtest.h>

#include "millrace/core/errors.h"
#include "millrace/input/csv/given_text.h"
#include "tests/support/temp_folder.h"

namespace millrace::cli {
namespace {

TEST(RowReader, ReadsPlainRowsAndOthers) {
  const RowReader reader(RowKeys(given_text_dialect({"a"}, ""), {{"a", {0}}}, {"label"}));
  EXPECT_EQ(reader.read(R"([{"a": 1}])").text, "1\n");
  EXPECT_EQ(reader.read(R"([{"a": "\n", "label": 1}])").text, "\"\n\"\n");
  EXPECT_EQ(error_of<DataError>([&] { reader.read(R"([{"a": 1}, {"b": 1}])"); }),
            R"(row 1: there is no column "b"; the model reads a)");
}

TEST(RowKeys, FindKeysByTheirNames) {
  const RowKeys keys(given_text_dialect({"a", "b"}, ""), {{"a", {0}}, {"b", {1}}}, {"label"});
  EXPECT_EQ(keys.find("b"), 1u);
  EXPECT_EQ(keys.find("label"), RowKeys::kUnread);
  EXPECT_EQ(keys.find("c"), RowKeys::kUnknown);
}

}  // namespace
}  // namespace millrace::cli
