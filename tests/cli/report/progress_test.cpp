#include "millrace/cli/report/progress.h"

#include <gtest/gtest.h>

namespace millrace::cli {
namespace {

StepReport example() {
  return {.step = 20,
          .epoch = 1,
          .batch_size = 23,
          .loss = 0.693147,
          .metrics = {{"accuracy", 0.57}},
          .rows_per_s = 12345.2,
          .input_wait = 0.03,
          .seconds = 2};
}

TEST(ProgressTest, LogLine) {
  EXPECT_EQ(progress_line(example()), "step 20  epoch 1  loss 0.6931  accuracy 0.57  12345 rows/s  input wait 3%");
}

TEST(ProgressTest, LogLineWithoutMetrics) {
  StepReport report = example();
  report.metrics.clear();
  EXPECT_EQ(progress_line(report), "step 20  epoch 1  loss 0.6931  12345 rows/s  input wait 3%");
}

TEST(ProgressTest, LiveLineSaysWhatIsLeft) {
  EXPECT_EQ(progress_line(example(), 1000),
            "step 20/1000  1 min 38 s left  epoch 1  loss 0.6931  accuracy 0.57  12345 rows/s  input wait 3%");
}

TEST(ProgressTest, LiveLineOfTheLastStepHasNothingLeft) {
  EXPECT_EQ(progress_line(example(), 20),
            "step 20/20  epoch 1  loss 0.6931  accuracy 0.57  12345 rows/s  input wait 3%");
}

TEST(ProgressTest, ValidationLine) {
  ValidationReport report{.step = 200, .rows = 1000, .loss = 0.43, .metrics = {{"accuracy", 0.81}}, .best = true};
  EXPECT_EQ(validation_line(report), "step 200  validation loss 0.43  accuracy 0.81  1000 rows  best");
  EXPECT_EQ(validation_line(report, "w"),
            "step 200  validation loss 0.43  accuracy 0.81  1000 rows weighted by w  best");
  report.best = false;
  report.metrics.clear();
  report.rows = 1;
  EXPECT_EQ(validation_line(report), "step 200  validation loss 0.43  1 row");
}

}  // namespace
}  // namespace millrace::cli
