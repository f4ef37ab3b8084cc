#include "millrace/cli/convert/convert_text.h"

#include <gtest/gtest.h>

namespace millrace::cli {
namespace {

ConvertResult example() {
  ConvertResult out{.reason = "end of data", .rows = 200, .files = {"a-00000.csv", "a-00001.csv"}, .seconds = 0.5};
  out.input.bad_rows = 1;
  out.input.dropped = {{.cause = "filter", .rows = 3}};
  out.readers = Spec::list({Spec::map({{"csv_reader", {{"header", true}}}})});
  return out;
}

TEST(ConvertTextTest, SaysWhatWasWritten) {
  ConvertResult result = example();
  EXPECT_EQ(convert_text(result),
            "end of data: 200 rows, 2 files in 0.500 s (400 rows/s)\nleft out: 3 rows (filter), 1 bad row\n");
  EXPECT_EQ(how_to_read(result), "a configuration reads them by:\n\ninput:\n  - csv_reader: {header: true}\n");
  result.reason = "stopped";
  result.files.pop_back();
  result.rows = 100;
  EXPECT_TRUE(convert_text(result).starts_with("stopped: 100 rows, 1 file in 0.500 s")) << convert_text(result);
  EXPECT_EQ(how_to_read(result), "") << "not all rows are there";
}

TEST(ConvertTextTest, JsonHasItAll) {
  EXPECT_EQ(
      convert_event(example()),
      "{\"v\":1,\"event\":\"convert\",\"reason\":\"end of data\",\"rows\":200,\"files\":[\"a-00000.csv\","
      "\"a-00001.csv\"],\"dropped\":3,\"bad\":1,\"input\":[{\"csv_reader\":{\"header\":true}}],\"seconds\":0.5}\n");
}

}  // namespace
}  // namespace millrace::cli
