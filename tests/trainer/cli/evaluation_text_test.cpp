#include "millrace/trainer/cli/evaluation_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace millrace::cli {
namespace {

TEST(EvaluationTextTest, SaysRowsLossAndMetrics) {
  EXPECT_EQ(
      evaluation_text(
          {.rows = 1000, .files = 4, .loss = 0.431234, .metrics = {{"accuracy", 0.81}, {"auc", 0.9}}, .seconds = 0.5}),
      "1000 rows of 4 files in 0.500 s (2000 rows/s)\nloss 0.4312  accuracy 0.81  auc 0.9\n");
  EXPECT_EQ(evaluation_text({.rows = 1, .files = 1, .loss = std::numeric_limits<double>::quiet_NaN()}),
            "1 row of 1 file in 0.000 s\nloss nan\n");
}

TEST(EvaluationTextTest, TheEventHasEveryDigit) {
  EXPECT_EQ(evaluation_event(
                {.rows = 1000, .files = 4, .loss = 0.4312345678901, .metrics = {{"accuracy", 0.81}}, .seconds = 0.5}),
            "{\"v\":1,\"event\":\"evaluation\",\"rows\":1000,\"loss\":0.4312345678901,"
            "\"metrics\":{\"accuracy\":0.81},\"seconds\":0.5}\n");
  EXPECT_EQ(evaluation_event({.loss = std::numeric_limits<double>::quiet_NaN()}),
            "{\"v\":1,\"event\":\"evaluation\",\"rows\":0,\"loss\":\"NaN\",\"metrics\":{},\"seconds\":0}\n");
}

}  // namespace
}  // namespace millrace::cli
