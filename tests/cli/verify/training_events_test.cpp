#include "millrace/cli/verify/training_events.h"

#include <gtest/gtest.h>

#include "millrace/cli/report/json_events.h"
#include "tests/support/temp_folder.h"

namespace millrace::cli {
namespace {

StepReport step_report() {
  StepReport out;
  out.step = 12;
  out.epoch = 2;
  out.loss = 0.5;
  out.metrics = {{"accuracy", 0.25}};
  out.rows_per_s = 1e6;
  out.seconds = 3;
  out.done = 0.1;
  return out;
}

ValidationReport validation_report() {
  ValidationReport out;
  out.step = 20;
  out.epoch = 3;
  out.rows = 7;
  out.loss = 0.125;
  out.best = true;
  out.seconds = 0.5;
  return out;
}

std::string done_line(const TrainResult& result) { return done_event(result, {}); }

TrainResult result() {
  TrainResult out;
  out.reason = "steps";
  out.steps = 40;
  out.rows = 280;
  out.loss = 0.5;
  out.metrics = {{"accuracy", 1.0}, {"auc", 0.5}};
  out.best = {.step = 20, .metric = "loss", .value = 0.25};
  out.weights = "abc";
  return out;
}

std::string without_end(std::string line) {
  line.pop_back();
  return line;
}

TEST(TrainingEvents, OfAStepAreTheSameWhateverItTook) {
  const TrainingEvent event = read_event(step_event(step_report()));
  EXPECT_EQ(event.name, "step");
  EXPECT_EQ(event.step, 12);
  EXPECT_EQ(event.said, R"("step":12,"epoch":2,"loss":0.5,"metrics":{"accuracy":0.25})");
  StepReport slower = step_report();
  slower.rows_per_s = 1;
  slower.seconds = 99;
  slower.input_wait = 0.5;
  slower.done = 0.2;
  EXPECT_EQ(read_event(step_event(slower)).said, event.said);
  StepReport other = step_report();
  other.loss = 0.50000000000000011;
  EXPECT_NE(read_event(step_event(other)).said, event.said);
}

TEST(TrainingEvents, OfAValidation) {
  const TrainingEvent event = read_event(validation_event(validation_report()));
  EXPECT_EQ(event.name, "validation");
  EXPECT_EQ(event.step, 20);
  EXPECT_EQ(event.said, R"("step":20,"epoch":3,"rows":7,"loss":0.125,"metrics":{},"best":true)");
}

TEST(TrainingEvents, OfOtherLines) {
  EXPECT_EQ(read_event(R"({"v":1,"event":"resume","step":500,"file":"a"})").step, 500);
  EXPECT_EQ(read_event(R"({"v":1,"event":"log","message":"x"})").name, "log");
  EXPECT_EQ(read_event("words").name, "");
  EXPECT_EQ(read_event("").name, "");
}

TEST(TrainingEvents, DoneTellsWhatIsTheSame) {
  const DoneEvent done = read_done(without_end(done_line(result())));
  EXPECT_EQ(done.weights, "abc");
  EXPECT_EQ(done.steps, 40);
  EXPECT_EQ(done.rows, 280);
  TrainResult later = result();
  later.seconds = 77;
  later.input_wait = 0.25;
  later.saved = "elsewhere";
  EXPECT_EQ(difference(done, read_done(without_end(done_line(later)))), "");
  TrainResult more = result();
  more.rows = 287;
  EXPECT_EQ(difference(done, read_done(without_end(done_line(more)))),
            "rows is 280, and 287 if it is killed and resumed");
  TrainResult metric = result();
  metric.metrics.back().second = 0.75;
  EXPECT_NE(difference(done, read_done(without_end(done_line(metric)))), "");
  TrainResult without = result();
  without.best.reset();
  EXPECT_NE(difference(done, read_done(without_end(done_line(without)))), "");
  EXPECT_NE(difference(read_done(without_end(done_line(without))), done), "");
}

TEST(TrainingEvents, ANumberThatIsNotFiniteIsRead) {
  TrainResult result = cli::result();
  result.loss = std::numeric_limits<double>::quiet_NaN();
  const DoneEvent done = read_done(without_end(done_line(result)));
  EXPECT_NE(difference(done, read_done(without_end(done_line(cli::result())))), "");
  EXPECT_EQ(difference(done, done), "");
}

TEST(TrainingEvents, NoDoneIsAnError) {
  EXPECT_EQ(error_of<InternalError>([] { read_done("x"); }), "a training ended with the line \"x\"");
}

TEST(TrainingEvents, AnErrorStaysWhatItIs) {
  const std::string line =
      R"({"v":1,"event":"error","kind":"data","file":"a.csv","line":3,"column":2,"message":"bad \"x\"","hint":"mend it"})";
  EXPECT_EQ(error_of<DataError>([&] { throw_error_of({.line = line, .errors = "", .code = 65}); }),
            "a.csv:3:2: bad \"x\"; mend it");
  const std::string plain =
      R"({"v":1,"event":"error","kind":"config","file":null,"line":null,"column":null,"message":"no","hint":null})";
  EXPECT_EQ(error_of<ConfigError>([&] { throw_error_of({.line = plain, .errors = "", .code = 78}); }), "no");
}

TEST(TrainingEvents, AnEndWithoutAnErrorTellsWhatWasSaid) {
  EXPECT_EQ(error_of<IoError>([] { throw_error_of({.line = "", .errors = "disk full", .code = 74}); }),
            "it ended with the exit code 74: disk full");
  EXPECT_EQ(error_of<InternalError>([] { throw_error_of({.line = "", .errors = "", .signal = 11}); }),
            "it was killed by signal 11");
}

TEST(TrainingEvents, OfALogLastWithoutTimes) {
  EXPECT_EQ(lasting_part(step_event(step_report())),
            R"(step "step":12,"epoch":2,"loss":0.5,"metrics":{"accuracy":0.25})");
  EXPECT_EQ(lasting_part(R"({"v":1,"event":"resume","step":500,"file":"a"})"), std::nullopt);
  EXPECT_EQ(lasting_part(R"({"v":1,"event":"start","device":"cpu"})"), std::nullopt);
  EXPECT_EQ(lasting_part(R"({"v":1,"event":"log","message":"x"})"), R"({"v":1,"event":"log","message":"x"})");
  EXPECT_EQ(lasting_part(log_event("warning: x")), std::nullopt);
  TrainResult later = result();
  later.seconds = 77;
  EXPECT_EQ(lasting_part(without_end(done_line(later))), lasting_part(without_end(done_line(result()))));
}

}  // namespace
}  // namespace millrace::cli
