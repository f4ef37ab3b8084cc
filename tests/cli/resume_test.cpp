// `trainer train --resume`: what a user sees of a training that was ended and goes on, from outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "millrace/core/text.h"
#include "tests/support/temp_folder.h"
#include "tests/support/trainer_program.h"

namespace millrace::cli {
namespace {

using ::millrace::testing::Command;
using ::millrace::testing::CommandResult;
using ::millrace::testing::run_trainer;
using ::millrace::testing::trainer_words;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

using Events = std::vector<nlohmann::json>;

Events events_in(const std::string& text) {
  Events out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) out.push_back(nlohmann::json::parse(line));
  return out;
}

// "start", "step 5", "log", .., without checkpoints: when they are told depends on the disk.
std::vector<std::string> summary(const Events& events) {
  std::vector<std::string> out;
  for (const nlohmann::json& event : events) {
    std::string text = event["event"];
    if (text == "checkpoint") continue;
    if (event.contains("step")) text += cat(' ', event["step"].get<int64_t>());
    out.push_back(std::move(text));
  }
  return out;
}

// The steps of the checkpoints.
std::vector<int64_t> checkpoints(const Events& events) {
  std::vector<int64_t> out;
  for (const nlohmann::json& event : events) {
    if (event["event"] == "checkpoint") out.push_back(event["step"]);
  }
  return out;
}

class ResumeTest : public ::testing::Test {
 protected:
  ResumeTest() {
    millrace::testing::write_small_data(folder_);
    folder_.write("saved.yaml", cat(millrace::testing::small_config(), "checkpoint: {dir: runs, every: 5}\n"));
    folder_.write("endless.yaml",
                  cat(millrace::testing::endless_config(), "checkpoint: {dir: runs, minutes: 100000}\n"));
  }

  CommandResult run(std::vector<std::string> arguments) {
    return run_trainer(std::move(arguments), {.folder = folder_.path()});
  }
  std::string log() const { return TempFolder::read(folder_.path("log.jsonl")); }
  // The weights of a training that nothing ended.
  std::string expected() {
    const CommandResult result = run({"small.yaml", "--json", "--quiet"});
    return events_in(result.out).back()["weights"];
  }

  TempFolder folder_;
};

TEST_F(ResumeTest, GoesOnWhereItWas) {
  const CommandResult begun = run({"saved.yaml", "--json", "--quiet", "--set", "train.steps=7"});
  ASSERT_EQ(begun.exit_code, 0) << begun.err;
  EXPECT_THAT(summary(events_in(begun.out)), ElementsAre("start", "step 5", "done"));
  EXPECT_THAT(checkpoints(events_in(begun.out)), ElementsAre(5, 7));

  const CommandResult ended = run({"saved.yaml", "--json", "--resume"});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  const Events events = events_in(ended.out);
  EXPECT_EQ(events[1]["event"], "resume");
  EXPECT_EQ(events[1]["step"], 7);
  EXPECT_EQ(events[1]["file"], "runs/checkpoint-000000007.safetensors");
  EXPECT_EQ(events[2]["event"], "log");
  EXPECT_THAT(events[2]["message"].get<std::string>(), HasSubstr("train.steps"));
  const nlohmann::json& done = events.back();
  EXPECT_EQ(done["resumed"], 7);
  EXPECT_EQ(done["steps"], 12);
  EXPECT_EQ(done["rows"], 80);
  EXPECT_EQ(done["weights"], expected());
  EXPECT_EQ(done["checkpoints"]["written"], 2);
  EXPECT_EQ(done["checkpoints"]["failed"], 0);
  EXPECT_EQ(done["checkpoints"]["file"], "runs/checkpoint-000000012.safetensors");
  EXPECT_GT(done["checkpoints"]["bytes"], 0);
  EXPECT_THAT(ended.err, StartsWith("going on from step 7 (runs/checkpoint-000000007.safetensors)\n"));
  EXPECT_THAT(ended.err, HasSubstr("\nstep 10  checkpoint runs/checkpoint-000000010.safetensors\n"));
}

TEST_F(ResumeTest, SaysItInWords) {
  ASSERT_EQ(run({"saved.yaml", "--quiet", "--set", "train.steps=7"}).exit_code, 0);
  const CommandResult result = run({"saved.yaml", "--quiet", "--resume"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, MatchesRegex("end of data: 12 steps, 80 rows, 2 epochs in .* \\(from step 7 on, input wait "
                                       ".*\nmodel: not kept; [^\n]*\ncheckpoints: 2 written; the newest is "
                                       "runs/checkpoint-000000012.safetensors\n"));
}

// The same command line restarts anything.
TEST_F(ResumeTest, BeginsWhereThereIsNothing) {
  const CommandResult result = run({"saved.yaml", "--json", "--quiet", "--resume"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Events events = events_in(result.out);
  EXPECT_THAT(summary(events), Not(::testing::Contains(StartsWith("resume"))));
  EXPECT_TRUE(events.back()["resumed"].is_null());
  EXPECT_EQ(events.back()["weights"], expected());
}

TEST_F(ResumeTest, ACompleteTrainingIsComplete) {
  ASSERT_EQ(run({"saved.yaml", "--quiet"}).exit_code, 0);
  const CommandResult result = run({"saved.yaml", "--resume", "--save", "m.safetensors"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\nthe training was complete already: nothing was left to train\n"));
  EXPECT_THAT(result.out, HasSubstr(cat("\nweights: ", expected(), '\n')));
  EXPECT_TRUE(std::filesystem::exists(folder_.path("m.safetensors")));
}

TEST_F(ResumeTest, GoesOnFromTheOneThatIsNamed) {
  ASSERT_EQ(run({"saved.yaml", "--quiet"}).exit_code, 0);
  const CommandResult result =
      run({"saved.yaml", "--json", "--quiet", "--resume=runs/checkpoint-000000005.safetensors"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(events_in(result.out).back()["resumed"], 5);
  EXPECT_EQ(events_in(result.out).back()["weights"], expected());
}

TEST_F(ResumeTest, TheOneThatIsNamedIsNotWrittenOver) {
  ASSERT_EQ(run({"saved.yaml", "--quiet", "--set", "train.steps=7"}).exit_code, 0);
  const std::string file = "runs/checkpoint-000000005.safetensors", moved = folder_.path("moved");
  std::filesystem::copy_file(folder_.path(file), moved);
  std::filesystem::remove_all(folder_.path("runs"));
  const std::string bytes = TempFolder::read(moved);
  const CommandResult log = run({"saved.yaml", "--resume=moved", "--set", "log={json: moved}"});
  EXPECT_EQ(log.exit_code, 78);
  EXPECT_THAT(log.err,
              HasSubstr("checkpoint: \"moved\" is the checkpoint to go on from, and this run writes it, too\n"));
  EXPECT_EQ(run({"saved.yaml", "--resume=moved", "--save", "moved"}).exit_code, 78);
  const CommandResult trace = run({"saved.yaml", "--resume=moved", "--trace", "moved"});
  EXPECT_EQ(trace.exit_code, 2);
  EXPECT_THAT(trace.err, HasSubstr("--trace \"moved\" is the file of --resume\n"));
  EXPECT_EQ(TempFolder::read(moved), bytes);
}

TEST_F(ResumeTest, NothingElseIsWrittenWhereCheckpointsAre) {
  const std::string name = "runs/checkpoint-000000005.safetensors";
  ASSERT_EQ(run({"saved.yaml", "--quiet", "--set", "train.steps=7"}).exit_code, 0);
  const std::string bytes = TempFolder::read(folder_.path(name));
  const CommandResult save = run({"saved.yaml", "--resume", "--save", name});
  EXPECT_EQ(save.exit_code, 78);
  EXPECT_THAT(save.err, HasSubstr("save: \"" + name + "\" has a name as the checkpoints beside it\n"));
  const CommandResult trace = run({"saved.yaml", "--resume", "--trace", name});
  EXPECT_EQ(trace.exit_code, 2);
  EXPECT_THAT(trace.err, HasSubstr("--trace \"" + name + "\" has a name as the checkpoints beside it\n"));
  EXPECT_EQ(TempFolder::read(folder_.path(name)), bytes);
}

TEST_F(ResumeTest, WithoutItNothingIsOverwritten) {
  const std::string logged = "log.json=log.jsonl";
  ASSERT_EQ(run({"saved.yaml", "--quiet", "--set", logged}).exit_code, 0);
  const std::string before = log();
  const CommandResult result = run({"saved.yaml", "--json", "--set", logged});
  EXPECT_EQ(result.exit_code, 78);
  EXPECT_THAT(result.err, HasSubstr("saved.yaml:16:13: checkpoint: \"runs\" holds checkpoints of a training"));
  EXPECT_THAT(result.err, HasSubstr("--resume"));
  EXPECT_EQ(log(), before);
}

TEST_F(ResumeTest, NeedsTheKey) {
  const CommandResult result = run({"small.yaml", "--resume"});
  EXPECT_EQ(result.exit_code, 78);
  EXPECT_EQ(result.err,
            "error: small.yaml:1:1: --resume needs the key checkpoint\nhint: for example checkpoint: {dir: "
            "runs/mlp}\n");
}

TEST_F(ResumeTest, TheLogHasNoLineTwice) {
  const std::vector<std::string> words = {"saved.yaml",         "--json", "--quiet",          "--set",
                                          "log.json=log.jsonl", "--set",  "train.log_every=1"};
  std::vector<std::string> first = words, second = words;
  first.insert(first.end(), {"--set", "train.steps=7"});
  second.emplace_back("--resume");
  const CommandResult begun = run(first);
  ASSERT_EQ(begun.exit_code, 0) << begun.err;
  EXPECT_EQ(log(), begun.out);
  // As if the end had not been reached.
  std::filesystem::remove(folder_.path("runs/checkpoint-000000007.safetensors"));
  const CommandResult ended = run(second);
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(summary(events_in(log())),
              ElementsAre("start", "step 1", "step 2", "step 3", "step 4", "step 5", "resume 5", "log", "step 6",
                          "step 7", "step 8", "step 9", "step 10", "step 11", "step 12", "done"));
  EXPECT_THAT(checkpoints(events_in(log())), ElementsAre(10, 12));
  EXPECT_THAT(summary(events_in(ended.out)), Not(::testing::Contains("step 5")));
}

// The data have no known end, so the training warns when it begins.
TEST_F(ResumeTest, TheLogHasNoWarningTwice) {
  const std::vector<std::string> words = trainer_words({"endless.yaml", "--json", "--quiet", "--resume", "--set",
                                                        "log.json=log.jsonl", "--set", "checkpoint.every=1000"});
  for (int i = 0; i < 3; ++i) {
    Command command(words, {.folder = folder_.path()});
    ASSERT_TRUE(command.wait_for_out("\"event\":\"checkpoint\""));
    command.send(SIGKILL);
    command.finish();
  }
  const Events events = events_in(log());
  int64_t step = 0, starts = 0, warnings = 0, resumes = 0;
  for (const nlohmann::json& event : events) {
    starts += event["event"] == "start";
    resumes += event["event"] == "resume";
    warnings += event["event"] == "log" && event["message"].get<std::string>().find("never end") != std::string::npos;
    if (event["event"] != "step") continue;
    EXPECT_EQ(event["step"], step + 1000);
    step = event["step"];
  }
  EXPECT_EQ(starts, 1);
  EXPECT_EQ(resumes, 2);
  EXPECT_EQ(warnings, 1);
  EXPECT_GE(step, 3000);
}

TEST_F(ResumeTest, ASignalAsksForACheckpoint) {
  Command command(trainer_words({"endless.yaml", "--json", "--quiet"}), {.folder = folder_.path()});
  ASSERT_TRUE(command.wait_for_out("\"step\":1000,"));
  command.send(SIGUSR1);
  ASSERT_TRUE(command.wait_for_out("\"event\":\"checkpoint\""));
  EXPECT_FALSE(command.ends_within(100));
  command.send(SIGUSR1);
  command.send(SIGTERM);
  const CommandResult result = command.finish();
  EXPECT_EQ(result.exit_code, 143) << result.err;
  const nlohmann::json done = events_in(result.out).back();
  EXPECT_EQ(done["reason"], "stopped");
  EXPECT_GE(done["checkpoints"]["written"], 2);
  const std::string last = done["checkpoints"]["file"];
  EXPECT_THAT(last, HasSubstr(cat(done["steps"].get<int64_t>(), ".safetensors")));
  EXPECT_TRUE(std::filesystem::exists(folder_.path(last)));
}

// It is told at once, and by the exit code at the end; the model is kept.
TEST_F(ResumeTest, ACheckpointThatCannotBeWrittenEndsNothing) {
  Command command(trainer_words({"endless.yaml", "--json", "--save", "m.safetensors"}), {.folder = folder_.path()});
  ASSERT_TRUE(command.wait_for_out("\"step\":1000,"));
  std::filesystem::rename(folder_.path("runs"), folder_.path("elsewhere"));
  command.send(SIGUSR1);
  ASSERT_TRUE(command.wait_for_err("was not written: "));
  EXPECT_FALSE(command.ends_within(100));
  command.send(SIGTERM);
  const CommandResult result = command.finish();
  EXPECT_EQ(result.exit_code, 74);
  EXPECT_TRUE(std::filesystem::exists(folder_.path("m.safetensors")));
  const nlohmann::json done = events_in(result.out).back();
  EXPECT_EQ(done["event"], "done");
  EXPECT_EQ(done["checkpoints"]["failed"], 2);
  EXPECT_THAT(done["checkpoints"]["failure"].get<std::string>(), HasSubstr("No such file or directory"));
  EXPECT_TRUE(done["checkpoints"]["file"].is_null());
  EXPECT_THAT(result.err, HasSubstr("\nerror: 2 checkpoints could not be written: runs/"));
}

}  // namespace
}  // namespace millrace::cli
