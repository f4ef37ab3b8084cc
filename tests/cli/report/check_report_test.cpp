#include "millrace/cli/report/check_report.h"

#include <gtest/gtest.h>

#include "millrace/trainer/files/yaml.h"

namespace millrace::cli {
namespace {

CheckReport example() {
  return {.rows = "features: float32 (2), label: float32 (1)",
          .batch_size = 23,
          .model = "dense: 3 parameters\n3 parameters\n",
          .parameters = 3,
          .memory_bound = 1536,
          .rows_read = 23,
          .warnings = {"capacity 79 raised"}};
}

TEST(CheckReportTest, Text) {
  EXPECT_EQ(check_text(example()),
            "input: batches of 23 rows, features: float32 (2), label: float32 (1)\n"
            "model:\n"
            "  dense: 3 parameters\n"
            "  3 parameters\n"
            "memory: at most 1.5 KiB (1536 bytes)\n"
            "data: the first 23 rows make sense\n"
            "warning: capacity 79 raised\n"
            "everything fits; nothing was trained\n");
}

TEST(CheckReportTest, SaysWhatTheBoundLeavesOut) {
  CheckReport report = example();
  report.varies = true;
  EXPECT_NE(check_text(report).find(" bytes), without strings and ragged fields\n"), std::string::npos);
}

TEST(CheckReportTest, ModelWithoutAFinalLineEnd) {
  CheckReport report = example();
  report.model = "one line";
  EXPECT_NE(check_text(report).find("model:\n  one line\nmemory:"), std::string::npos);
}

TEST(CheckReportTest, Event) {
  EXPECT_EQ(check_event(example(), nullptr),
            "{\"v\":1,\"event\":\"check\",\"rows\":\"features: float32 (2), label: float32 (1)\",\"batch_size\":23,"
            "\"parameters\":3,\"memory_bound\":1536,\"rows_read\":23,\"warnings\":[\"capacity 79 raised\"]}\n");
}

TEST(CheckReportTest, EventWithConfiguration) {
  const Spec config = parse_yaml("{seed: 23}", "c.yaml");
  EXPECT_TRUE(check_event(example(), &config).ends_with(",\"config\":{\"seed\":23}}\n"));
}

}  // namespace
}  // namespace millrace::cli
