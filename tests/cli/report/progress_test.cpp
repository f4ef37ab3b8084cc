#include "millrace/cli/report/progress.h"

#include <gtest/gtest.h>

#include "millrace/cli/text/text_layout.h"

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

std::string live_line(const LiveState& state, size_t width = 1000) { return fitting_parts(live_parts(state), width); }

TEST(ProgressTest, LiveLineSaysWhatIsDoneAndWhatIsLeft) {
  StepReport report = example();
  report.done = 0.02;
  EXPECT_EQ(live_line({.steps = 1000, .report = report}),
            "2%  1 min 38 s left  loss 0.6931  step 20/1000  accuracy 0.57  epoch 1  12345 rows/s  input wait 3%");
  EXPECT_EQ(live_line({.report = report}),
            "2%  1 min 38 s left  loss 0.6931  step 20  accuracy 0.57  epoch 1  12345 rows/s  input wait 3%");
  report.done = 0.9999;
  EXPECT_TRUE(live_line({.report = report}).starts_with("99%  <1 s left  loss"));
  report.done = 1;
  EXPECT_TRUE(live_line({.report = report}).starts_with("100%  loss 0.6931  step 20  "));
}

// It says how long the rest takes at the speed of this run, which did not do what came before.
TEST(ProgressTest, LiveLineOfATrainingThatWentOn) {
  StepReport first = example(), report = example();
  first.done = 0.5;
  first.seconds = 1;
  report.done = 0.6;
  report.seconds = 11;
  EXPECT_TRUE(live_line({.report = report, .first = first}).starts_with("60%  40 s left  loss"));
  EXPECT_TRUE(live_line({.report = first, .first = first}).starts_with("50%  loss")) << "nobody knows yet";
  first.done = {};
  EXPECT_TRUE(live_line({.report = report, .first = first}).starts_with("60%  7.3 s left  loss"));
}

TEST(ProgressTest, LiveLineOfDataWithoutAKnownEndSaysNoShare) {
  EXPECT_EQ(live_line({.report = example()}),
            "step 20  loss 0.6931  accuracy 0.57  epoch 1  12345 rows/s  input wait 3%");
}

TEST(ProgressTest, ANarrowLiveLineKeepsWhatMatters) {
  StepReport report = example();
  report.done = 0.02;
  EXPECT_EQ(live_line({.steps = 1000, .report = report}, 39), "2%  1 min 38 s left  loss 0.6931");
  EXPECT_EQ(live_line({.steps = 1000, .report = report}, 59), "2%  1 min 38 s left  loss 0.6931  step 20/1000");
  EXPECT_EQ(live_line({.steps = 1000, .report = report}, 79),
            "2%  1 min 38 s left  loss 0.6931  step 20/1000  accuracy 0.57  epoch 1");
  EXPECT_EQ(live_line({.report = example()}, 39), "step 20  loss 0.6931  accuracy 0.57");
  EXPECT_EQ(live_line({.report = report}, 1), "");
}

TEST(ProgressTest, LiveLineSaysWhatTakesLong) {
  StepReport report = example();
  report.done = 0.02;
  EXPECT_EQ(live_line({.quiet_seconds = 12}), "long step for 12 s");
  EXPECT_EQ(live_line({}), "");
  EXPECT_EQ(live_line({.report = report, .quiet_seconds = 12}, 39), "2%  long step for 12 s  1 min 26 s left");
  EXPECT_EQ(live_line({.report = report, .validation = ValidationProgress{.step = 20, .done = 0.45}}, 39),
            "2%  validation 45%  1 min 38 s left");
  EXPECT_EQ(live_line({.report = report, .validation = ValidationProgress{.step = 20}, .quiet_seconds = 3}, 45),
            "2%  validation for 3.0 s  1 min 35 s left");
  report.done = 0.999;
  EXPECT_EQ(
      live_line({.report = report, .validation = ValidationProgress{.step = 20, .done = 0.999}, .quiet_seconds = 3599},
                39),
      "99%  validation 99% for 59 min 59 s");
  EXPECT_EQ(live_line({.report = report, .quiet_seconds = 599, .stopping = true}, 39),
            "stopping  99%  long step for 9 min 59 s");
  report.done = 1;
  EXPECT_TRUE(live_line({.report = report, .quiet_seconds = 3}).starts_with("100%  finishing for 3.0 s  loss"));
  EXPECT_TRUE(live_line({.report = report, .stopping = true}).starts_with("stopping  100%  loss"));
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
