#include "millrace/cli/report/input_report.h"

#include <gtest/gtest.h>

namespace millrace::cli {
namespace {

InputResult example() {
  InputResult result{.reason = "end of data", .input = {}, .seconds = 2};
  result.input.rows = 4000;
  result.input.batches = 174;
  result.input.passes = 2;
  result.input.bytes = 4u << 20;
  result.input.bad_rows = 3;
  result.input.dropped = {{"filter", 4}, {"take", 1}};
  return result;
}

TEST(InputReportTest, Text) {
  EXPECT_EQ(input_text(example()),
            "end of data: 174 batches, 4000 rows, 2 epochs in 2.0 s (2000 rows/s, 2.0 MiB/s)\n"
            "left out: 4 rows (filter), 1 row (take), 3 bad rows\n");
}

TEST(InputReportTest, NothingOfBytesWhereASourceReadsNone) {
  InputResult result = example();
  result.input.bytes = 0;
  result.input.dropped = {};
  EXPECT_EQ(input_text(result),
            "end of data: 174 batches, 4000 rows, 2 epochs in 2.0 s (2000 rows/s)\nleft out: 3 bad rows\n");
}

TEST(InputReportTest, OneOfEach) {
  InputResult result{.reason = "batches", .input = {}};
  result.input.rows = result.input.batches = result.input.passes = 1;
  EXPECT_EQ(input_text(result), "batches: 1 batch, 1 row, 1 epoch in 0.000 s\nleft out: nothing\n");
}

TEST(InputReportTest, Event) {
  EXPECT_EQ(input_event(example()),
            "{\"v\":1,\"event\":\"done\",\"reason\":\"end of data\",\"batches\":174,\"rows\":4000,\"epochs\":2,"
            "\"dropped\":5,\"bad\":3,\"seconds\":2}\n");
}

}  // namespace
}  // namespace millrace::cli
