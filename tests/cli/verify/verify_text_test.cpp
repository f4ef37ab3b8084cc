#include "millrace/cli/verify/verify_text.h"

#include <gtest/gtest.h>

namespace millrace::cli {
namespace {

VerifyReport example() {
  VerifyReport report;
  report.kills = {.starting = 1, .early = 0, .in_steps = 12, .in_validations = 2, .calls = {{"link", 1}, {"sync", 4}}};
  report.trainings = 2;
  report.resumes = 19;
  report.threads = {1, 2, 5};
  report.deliveries = {{"feed", 9}, {"queue", 11}};
  report.steps = 60;
  report.rows = 420;
  report.weights = report.resumed_weights = "abc";
  return report;
}

TEST(VerifyText, OfEqualTrainings) {
  EXPECT_EQ(verify_text(example()),
            "equal: 60 steps and 420 rows, with 20 kills or with none\n"
            "20 kills in 2 trainings:\n"
            "  while it started                1\n"
            "  before the first checkpoint     0\n"
            "  in steps                        12\n"
            "  in validations                  2\n"
            "  writing, before link()          1\n"
            "  writing, before sync()          4\n"
            "19 resumes from a checkpoint; threads: 1, 2 and 5; deliveries: feed 9 and queue 11\n"
            "weights: abc  (never interrupted)\n"
            "weights: abc  (killed and resumed)\n");
  EXPECT_EQ(verify_event(example()),
            R"({"v":1,"event":"verify_resume","kills":20,"equal":true,"weights":"abc","resumed_weights":"abc",)"
            R"("difference":null,"parts_at":null,"kept":null,"steps":60,"rows":420,"where":{"starting":1,)"
            R"("before_checkpoint":0,"step":12,"validation":2,"writing":{"link":1,"sync":4}},"trainings":2,)"
            R"("resumes":19,"threads":[1,2,5],"deliveries":{"feed":9,"queue":11}})"
            "\n");
}

TEST(VerifyText, OfOthersSaysWhereTheyPart) {
  VerifyReport report = example();
  report.difference = "the step event of step 42 is another one";
  report.parts_at = 42;
  report.kept = "/tmp/x";
  report.resumed_weights.clear();
  const std::string text = verify_text(report);
  EXPECT_TRUE(text.starts_with("not equal: the step event of step 42 is another one\n")) << text;
  EXPECT_TRUE(text.ends_with("weights: abc  (never interrupted)\nboth trainings are in /tmp/x\n")) << text;
  const std::string event = verify_event(report);
  EXPECT_NE(event.find(R"("equal":false,"weights":"abc","resumed_weights":null,)"
                       R"("difference":"the step event of step 42 is another one","parts_at":42,"kept":"/tmp/x")"),
            std::string::npos)
      << event;
}

}  // namespace
}  // namespace millrace::cli
