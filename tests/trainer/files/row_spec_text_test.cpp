#include "millrace/trainer/files/row_spec_text.h"

#include <gtest/gtest.h>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "tests/support/temp_folder.h"

namespace millrace {
namespace {

TEST(RowSpecText, ReadsWhatItWrote) {
  const RowSpec rows{{{"features", DType::f32, Shape{28, 28}},
                      {"a: \"name\" #1", DType::i64, Shape{1}},
                      {"words", DType::f32, Shape{1}, true, {}},
                      {"tags", DType::i32, Shape{1}, false, '|'}}};
  EXPECT_EQ(read_row_spec(row_spec_text(rows), "m:rows"), rows);
  EXPECT_EQ(read_row_spec(row_spec_text({}), "m:rows"), RowSpec{});
}

TEST(RowSpecText, RefusesWhatItDidNot) {
  const auto error = [](const std::string& text) {
    return error_of<ConfigError>([&] { read_row_spec(text, "m:rows"); });
  };
  EXPECT_EQ(error("{}"), "m:rows:1:1: expected a list, got a map");
  EXPECT_EQ(error("- {name: a, type: float16, shape: [1]}"), "m:rows:1:3: [0]: unknown type \"float16\"");
  EXPECT_EQ(error("- {name: a, type: float32, shape: [1], split: ab}"), "m:rows:1:3: [0]: split is one byte");
  EXPECT_EQ(error("- {name: a, type: int32, shape: [1]}\n- {name: a, type: int32, shape: [1]}"),
            "m:rows:2:3: [1]: the field \"a\" is listed twice");
  EXPECT_NE(error("- {name: a, type: int32, shape: [-1]}").find("-1"), std::string::npos);
  EXPECT_NE(error("- {name: a, type: int32, shape: [1, 1, 1, 1, 1, 1, 1]}").find("6"), std::string::npos);
  const std::string huge = "type: float64, shape: [576460752303423488]}\n";
  EXPECT_NE(
      error(cat("- {name: a, ", huge, "- {name: b, ", huge, "- {name: c, ", huge, "- {name: d, ", huge)).find("bytes"),
      std::string::npos);
  EXPECT_NE(error("- {type: int32, shape: [1]}").find("name"), std::string::npos);
}

}  // namespace
}  // namespace millrace
