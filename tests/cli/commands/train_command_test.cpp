// `trainer --config`: what a user sees of a training, from outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "millrace/core/text.h"
#include "tests/support/temp_folder.h"
#include "tests/support/trace_reader.h"
#include "tests/support/trainer_program.h"

namespace millrace::cli {
namespace {

using ::millrace::testing::Command;
using ::millrace::testing::CommandResult;
using ::millrace::testing::run_trainer;
using ::millrace::testing::trainer_words;

std::vector<nlohmann::json> json_lines(const std::string& text) {
  std::vector<nlohmann::json> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) out.push_back(nlohmann::json::parse(line));
  return out;
}

std::vector<std::string> keys_of(const nlohmann::json& object) {
  std::vector<std::string> out;
  for (const auto& item : object.items()) out.push_back(item.key());
  return out;
}

class TrainCommandTest : public ::testing::Test {
 protected:
  TrainCommandTest() { millrace::testing::write_small_data(folder_); }

  CommandResult run(std::vector<std::string> arguments) {
    return run_trainer(std::move(arguments), {.folder = folder_.path()});
  }
  millrace::testing::TraceFile trace() const {
    return millrace::testing::TraceFile(TempFolder::read(folder_.path("trace.json")));
  }

  TempFolder folder_;
};

TEST_F(TrainCommandTest, SettingsThatAreNotHeededAreAnError) {
  const auto refused = [&](const std::vector<std::string>& words, const std::string& setting) {
    const CommandResult result = run(words);
    EXPECT_EQ(result.exit_code, 78);
    EXPECT_EQ(result.err, cat("error: --set ", setting,
                              ": the setting changes nothing here\n"
                              "hint: leave it out: this command does not heed it\n"));
  };
  refused({"small.yaml", "--set", "compare.rounds=2"}, "compare.rounds=2");
  refused({"small.yaml", "--save", "a.safetensors", "--set", "save=b.safetensors"}, "save=b.safetensors");
  const CommandResult both =
      run({"small.yaml", "-q", "--save", "a.safetensors", "--set", "save={file: b.safetensors, optimizer: true}"});
  EXPECT_EQ(both.exit_code, 0) << both.err;
}

TEST_F(TrainCommandTest, SaysWhatItDid) {
  const CommandResult result = run({"--config", "small.yaml"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(result.out.starts_with("end of data: 12 steps, 80 rows, 2 epochs in ")) << result.out;
  EXPECT_NE(result.out.find("\nlast batch: 3 rows  loss "), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("\nleft out: nothing\nweights: "), std::string::npos) << result.out;
  EXPECT_TRUE(result.out.ends_with("\nmodel: not kept; --save FILE or the key save keeps it\n")) << result.out;
  EXPECT_TRUE(result.err.starts_with("step 5  epoch 1  loss ")) << result.err;
  EXPECT_NE(result.err.find("\nstep 10  epoch 2  loss "), std::string::npos) << result.err;
  EXPECT_EQ(result.err.find('\x1b'), std::string::npos) << "no escape sequences outside terminals";
}

TEST_F(TrainCommandTest, WaysToCallItTrainTheSame) {
  const auto weights = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--json", "--quiet"});
    const CommandResult result = run(std::move(arguments));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    return json_lines(result.out).back()["weights"].get<std::string>();
  };
  const std::string expected = weights({"--config", "small.yaml"});
  EXPECT_EQ(expected.size(), 64u);
  EXPECT_EQ(weights({"train", "--config", "small.yaml"}), expected);
  EXPECT_EQ(weights({"small.yaml"}), expected);
  EXPECT_NE(weights({"small.yaml", "--set", "seed=24"}), expected);
}

TEST_F(TrainCommandTest, EventsHaveTheirKeys) {
  const CommandResult result = run({"--config", "small.yaml", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::vector<nlohmann::json> events = json_lines(result.out);
  ASSERT_EQ(events.size(), 4u) << result.out;
  for (const nlohmann::json& event : events) EXPECT_EQ(event["v"], 1);
  EXPECT_EQ(events[0]["event"], "start");
  EXPECT_EQ(events[0]["batch_size"], 7);
  EXPECT_TRUE(events[0]["steps"].is_null());
  EXPECT_EQ(events[1]["step"], 5);
  EXPECT_EQ(keys_of(events[1]), (std::vector<std::string>{"done", "epoch", "event", "input_wait", "loss", "metrics",
                                                          "rows_per_s", "step", "v"}));
  EXPECT_TRUE(events[1]["metrics"]["accuracy"].is_number());
  EXPECT_EQ(events[2]["step"], 10);
  const nlohmann::json& done = events[3];
  EXPECT_EQ(done["event"], "done");
  EXPECT_EQ(done["reason"], "end of data");
  EXPECT_EQ(done["steps"], 12);
  EXPECT_EQ(done["rows"], 80);
  EXPECT_EQ(done["epochs"], 2);
  EXPECT_EQ(done["last_batch"], 3);
  EXPECT_EQ(done["dropped"], 0);
  EXPECT_EQ(done["bad"], 0);
  EXPECT_TRUE(done["seconds"].is_number());
  EXPECT_TRUE(done["loss"].is_number());
  EXPECT_TRUE(done["metrics"].contains("accuracy"));
}

TEST_F(TrainCommandTest, WhatIsDroppedIsCounted) {
  const CommandResult result =
      run({"small.yaml", "--json", "--quiet", "--set", "input.batch.allow_smaller_final_batch=false"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const nlohmann::json done = json_lines(result.out).back();
  EXPECT_EQ(done["rows"], 77);
  EXPECT_EQ(done["dropped"], 3);
}

TEST_F(TrainCommandTest, StepsEndTheTraining) {
  const CommandResult result = run({"small.yaml", "--set", "train.steps=5", "--quiet"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(result.out.starts_with("steps: 5 steps, 35 rows, 1 epoch in ")) << result.out;
  EXPECT_EQ(result.err, "");
}

TEST_F(TrainCommandTest, SaveKeepsTheModel) {
  const CommandResult result = run({"small.yaml", "--save", "m.safetensors", "--quiet"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(result.out.ends_with("\nmodel: m.safetensors\n")) << result.out;
  EXPECT_TRUE(std::filesystem::exists(folder_.path("m.safetensors")));
}

TEST_F(TrainCommandTest, ImpossibleSaveFailsBeforeTheTraining) {
  const CommandResult result = run({"small.yaml", "--save", "none/m.safetensors", "--json"});
  EXPECT_EQ(result.exit_code, 74);
  EXPECT_EQ(result.err,
            "error: none/m.safetensors: cannot write: No such file or directory\nhint: make the folder \"none\" "
            "first\n");
  const std::vector<nlohmann::json> events = json_lines(result.out);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0]["event"], "error");
  EXPECT_EQ(events[0]["kind"], "io");
  EXPECT_EQ(run({"small.yaml", "--save", "."}).err, "error: .: cannot write: it is a folder\n");
}

// Other options take it as standard output.
TEST_F(TrainCommandTest, ADashIsNoFile) {
  for (const std::string option : {"--save", "--trace"}) {
    const CommandResult result = run({"small.yaml", option, "-"});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_TRUE(result.err.starts_with("error: " + option + " - names no file\nhint: ./- is a file of that name"))
        << result.err;
  }
  EXPECT_FALSE(std::filesystem::exists(folder_.path("-")));
}

TEST_F(TrainCommandTest, SaveOverwritesNothingThatIsInUse) {
  const std::string data = TempFolder::read(folder_.path("part-1.csv"));
  const CommandResult result = run({"small.yaml", "--save", "./part-1.csv"});
  EXPECT_EQ(result.exit_code, 78);
  EXPECT_EQ(result.err,
            "error: --save ./part-1.csv: save: would overwrite \"part-1.csv\", which this run reads\n"
            "hint: give it another name\n");
  EXPECT_EQ(run({"small.yaml", "--save", "small.yaml"}).exit_code, 78);
  EXPECT_EQ(TempFolder::read(folder_.path("part-1.csv")), data);
  EXPECT_EQ(TempFolder::read(folder_.path("small.yaml")), millrace::testing::small_config());
}

TEST_F(TrainCommandTest, BadDataEndsWithAnErrorEvent) {
  folder_.write("part-2.csv", "1,2,0\n1,x,0\n");
  const CommandResult result = run({"small.yaml", "--json", "--quiet"});
  EXPECT_EQ(result.exit_code, 65);
  EXPECT_TRUE(result.err.starts_with("error: part-2.csv:2:3: ")) << result.err;
  const nlohmann::json event = json_lines(result.out).back();
  EXPECT_EQ(event["event"], "error");
  EXPECT_EQ(event["kind"], "data");
  EXPECT_EQ(event["file"], "part-2.csv");
  EXPECT_EQ(event["line"], 2);
  EXPECT_EQ(event["column"], 3);
}

TEST_F(TrainCommandTest, TracesWhatItDid) {
  const CommandResult result = run({"small.yaml", "--quiet", "--trace", "trace.json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(trace().named("step", "step").size(), 12u);
  EXPECT_EQ(trace().named("dense_2", "forward").size(), 12u);
  EXPECT_FALSE(trace().named("decode_csv", "input").empty());

  const CommandResult plain = run({"small.yaml", "--quiet"});
  const auto weights = [](const std::string& text) { return text.substr(text.find("weights: ")); };
  EXPECT_EQ(weights(result.out), weights(plain.out));
}

TEST_F(TrainCommandTest, TracesAFailureToo) {
  folder_.write("part-3.csv", "1,2,0\n3,x,1\n");
  EXPECT_EQ(run({"small.yaml", "--trace", "trace.json"}).exit_code, 65);
  EXPECT_EQ(trace().named("step", "step").size(), 4u);
}

TEST_F(TrainCommandTest, TracesUntilASignalComes) {
  folder_.write("endless.yaml", millrace::testing::endless_config());
  Command command(trainer_words({"endless.yaml", "--json", "--trace", "trace.json"}), {.folder = folder_.path()});
  ASSERT_TRUE(command.wait_for_out("\"step\":1000,"));
  command.send(SIGTERM);
  EXPECT_EQ(command.finish().exit_code, 143);
  EXPECT_GE(trace().named("step", "step").size(), 1000u);
}

TEST_F(TrainCommandTest, TracesWhereNothingIsLost) {
  const std::string data = TempFolder::read(folder_.path("part-1.csv"));
  const CommandResult result = run({"small.yaml", "--trace", "./part-1.csv"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err,
            "error: --trace \"./part-1.csv\" would overwrite \"part-1.csv\", which this run reads\n"
            "hint: give it another name\n");
  EXPECT_EQ(TempFolder::read(folder_.path("part-1.csv")), data);
  EXPECT_EQ(run({"small.yaml", "--trace", "small.yaml"}).exit_code, 2);
  EXPECT_EQ(run({"small.yaml", "--set", "validation.files=part-0.csv", "--trace", "part-0.csv"}).exit_code, 2);
  const CommandResult model = run({"small.yaml", "--save", "m.safetensors", "--trace", "m.safetensors"});
  EXPECT_EQ(model.err,
            "error: --trace \"m.safetensors\" is the file that the model is saved to\nhint: give it another name\n");
  EXPECT_EQ(run({"small.yaml", "--save", "m.safetensors", "--trace", "m.last.safetensors"}).exit_code, 2);
  const CommandResult missing = run({"small.yaml", "--trace", "missing/trace.json"});
  EXPECT_EQ(missing.exit_code, 74) << "before the first step: " << missing.err;
  EXPECT_EQ(missing.out, "");
}

TEST_F(TrainCommandTest, ReaderThatGoesAwayIsNoFailure) {
  folder_.write("endless.yaml", millrace::testing::endless_config());
  Command command(trainer_words({"endless.yaml", "--json", "--quiet"}), {.folder = folder_.path()});
  ASSERT_TRUE(command.wait_for_out("\"step\":1000,"));
  command.close_out();
  const CommandResult result = command.finish();
  EXPECT_EQ(result.signal, 0);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
}

TEST_F(TrainCommandTest, EventsThatCannotBeWrittenDoNotCostTheModel) {
  folder_.write("endless.yaml", millrace::testing::endless_config());
  Command command(trainer_words({"endless.yaml", "--json", "--quiet", "--save", "m.safetensors"}),
                  {.folder = folder_.path()});
  ASSERT_TRUE(command.wait_for_out("\"step\":1000,"));
  command.close_out();
  const CommandResult result = command.finish();
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_TRUE(std::filesystem::exists(folder_.path("m.safetensors")));

  const CommandResult full = run_trainer({"small.yaml", "--json", "--quiet", "--save", "full.safetensors"},
                                         {.folder = folder_.path(), .environment = {}, .out_file = "/dev/full"});
  EXPECT_EQ(full.exit_code, 74);
  EXPECT_TRUE(std::filesystem::exists(folder_.path("full.safetensors")));
}

TEST_F(TrainCommandTest, AFailureKeepsWhatWasLearned) {
  folder_.write("part-3.csv", "1,2,0\n3,x,1\n");
  const CommandResult result = run({"small.yaml", "--save", "m.safetensors"});
  EXPECT_EQ(result.exit_code, 65);
  EXPECT_NE(result.err.find("the model of step 4 is in m.safetensors.partial\n"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("error: part-3.csv:2:3: "), std::string::npos) << result.err;
  EXPECT_FALSE(std::filesystem::exists(folder_.path("m.safetensors")));
  EXPECT_EQ(run({"evaluate", "--model", "m.safetensors.partial", "--data", "part-0.csv"}).exit_code, 0);
  // Nothing was to be kept, or there was nothing yet.
  std::filesystem::remove(folder_.path("m.safetensors.partial"));
  EXPECT_EQ(run({"small.yaml"}).exit_code, 65);
  folder_.write("part-0.csv", "x,2,0\n");
  EXPECT_EQ(run({"small.yaml", "--save", "m.safetensors"}).exit_code, 65);
  EXPECT_FALSE(std::filesystem::exists(folder_.path("m.safetensors.partial")));
}

TEST_F(TrainCommandTest, AFailureKeepsTheBestModel) {
  folder_.write("part-3.csv", "1,2,0\n3,x,1\n");
  const CommandResult result =
      run({"small.yaml", "--save", "m.safetensors", "--set",
           "validation={files: part-0.csv, every: 2, keep_best: true}", "--set", "optimizer.sgd.learning_rate=1e-30"});
  EXPECT_EQ(result.exit_code, 65);
  EXPECT_NE(result.err.find("the model of step 4 is in m.last.safetensors.partial\n"
                            "the best model of step 2 is in m.safetensors.partial\n"),
            std::string::npos)
      << result.err;
  EXPECT_FALSE(std::filesystem::exists(folder_.path("m.safetensors")));
  for (const char* file : {"m.safetensors.partial", "m.last.safetensors.partial"}) {
    EXPECT_EQ(run({"evaluate", "--model", file, "--data", "part-0.csv"}).exit_code, 0) << file;
  }
}

TEST_F(TrainCommandTest, DataWithoutRowsReplaceNoModel) {
  for (const char* file : {"part-0.csv", "part-1.csv", "part-2.csv", "part-3.csv"}) folder_.write(file, "");
  const std::string model = folder_.write("m.safetensors", "good");
  const CommandResult result = run({"small.yaml", "--quiet", "--save", "m.safetensors"});
  EXPECT_EQ(result.exit_code, 65);
  EXPECT_NE(result.err.find("error: the data ended before the first batch, so nothing was trained"), std::string::npos)
      << result.err;
  EXPECT_EQ(TempFolder::read(model), "good");
}

TEST_F(TrainCommandTest, WarnsOfATrainingWithoutAnEnd) {
  folder_.write("endless.yaml", millrace::testing::endless_config());
  const std::string warning = "the data of synthetic never end, and neither does the training";
  EXPECT_NE(run({"check", "endless.yaml"}).out.find(warning), std::string::npos);
  EXPECT_EQ(run({"check", "endless.yaml", "--set", "train.steps=5"}).out.find(warning), std::string::npos);
  EXPECT_EQ(run({"check", "small.yaml"}).out.find("never end"), std::string::npos);
}

TEST_F(TrainCommandTest, RefusesToSaveWhatCouldNotBeReadAgain) {
  std::string columns;
  for (int i = 0; i < 500000; ++i) columns += std::to_string(i % 2) + ",";
  columns.back() = ']';
  std::string config = millrace::testing::small_config();
  const size_t at = config.find("columns: 0-1");
  config.replace(at, 12, "columns: [" + columns);
  folder_.write("wide.yaml", config);
  const CommandResult result = run({"wide.yaml", "--save", "m.safetensors"});
  EXPECT_EQ(result.exit_code, 78);
  EXPECT_NE(result.err.find(" bytes of configuration, with all defaults, at most 1048576 can be read again"),
            std::string::npos)
      << result.err;
}

TEST_F(TrainCommandTest, FullDiskIsAnError) {
  const CommandResult result = run_trainer({"small.yaml", "--json", "--quiet"},
                                           {.folder = folder_.path(), .environment = {}, .out_file = "/dev/full"});
  EXPECT_EQ(result.exit_code, 74);
  EXPECT_EQ(result.err, "error: standard output: writing failed: No space left on device\n");
}

TEST_F(TrainCommandTest, InterruptFinishesTheStepAndReports) {
  folder_.write("endless.yaml", millrace::testing::endless_config());
  for (const auto& [number, code] : {std::pair(SIGINT, 130), std::pair(SIGTERM, 143), std::pair(SIGHUP, 129)}) {
    Command command(trainer_words({"endless.yaml", "--json", "--save", "m.safetensors"}), {.folder = folder_.path()});
    ASSERT_TRUE(command.wait_for_err("step 1000 "));
    command.send(number);
    const CommandResult result = command.finish();
    EXPECT_EQ(result.signal, 0);
    EXPECT_EQ(result.exit_code, code);
    const nlohmann::json done = json_lines(result.out).back();
    EXPECT_EQ(done["event"], "done");
    EXPECT_EQ(done["reason"], "stopped");
    EXPECT_GE(done["steps"], 1000);
    EXPECT_EQ(done["rows"].get<int64_t>(), done["steps"].get<int64_t>() * 16);
    EXPECT_TRUE(std::filesystem::remove(folder_.path("m.safetensors")));
  }
}

// Nobody reads what the program writes: neither a signal nor the model may be lost for that.
TEST_F(TrainCommandTest, ASignalEndsTheWaitForAReader) {
  folder_.write("endless.yaml", millrace::testing::endless_config());
  std::vector<std::string> words =
      trainer_words({"endless.yaml", "--set", "train.log_every=1", "--save", "m.safetensors"});
  {
    Command command(words, {.folder = folder_.path()});
    ASSERT_TRUE(command.wait_for_full_err());
    command.send(SIGTERM);
    const CommandResult result = command.finish_unread();
    EXPECT_EQ(result.exit_code, 143);
    EXPECT_TRUE(result.out.starts_with("stopped: ")) << result.out;
    EXPECT_TRUE(std::filesystem::remove(folder_.path("m.safetensors")));
  }
  words.insert(words.end(), {"--json", "--quiet"});
  for (const bool nonblocking : {false, true}) {
    Command command(words, {.folder = folder_.path(), .nonblocking_out = nonblocking});
    ASSERT_TRUE(command.wait_for_full_out());
    command.send(SIGINT);
    const CommandResult result = command.finish_unread();
    EXPECT_EQ(result.exit_code, 130);
    EXPECT_EQ(result.err, "");
    EXPECT_NE(result.out.find("\"step\":100,"), std::string::npos) << "what was written stays written";
    EXPECT_TRUE(std::filesystem::remove(folder_.path("m.safetensors")));
  }
}

TEST_F(TrainCommandTest, OutputThatDoesNotBlockIsWaitedFor) {
  folder_.write("endless.yaml", millrace::testing::endless_config());
  Command command(
      trainer_words({"endless.yaml", "--set", "train.log_every=1", "--set", "train.steps=2000", "--json", "--quiet"}),
      {.folder = folder_.path(), .nonblocking_out = true});
  ASSERT_TRUE(command.wait_for_full_out());
  const CommandResult result = command.finish();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(json_lines(result.out).size(), 2002u);
}

TEST_F(TrainCommandTest, ASignalWhileResultsAreWrittenLosesNoFile) {
  Command command(trainer_words({"small.yaml", "--quiet", "--save", "m.safetensors", "--trace", "trace.json"}),
                  {.folder = folder_.path(), .full_out = true});
  while (!std::filesystem::exists(folder_.path("m.safetensors"))) ASSERT_FALSE(command.ends_within(1));
  command.send(SIGTERM);
  EXPECT_EQ(command.finish_unread().exit_code, 143);
  EXPECT_EQ(trace().named("step", "step").size(), 12u);
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    EXPECT_NE(entry.path().extension(), ".tmp");
  }
}

TEST_F(TrainCommandTest, LogsWhatJsonPrints) {
  folder_.write("log.jsonl", "before\n");
  const CommandResult result = run({"small.yaml", "--json", "--quiet", "--set", "log.json=log.jsonl"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(TempFolder::read(folder_.path("log.jsonl")), result.out);
  EXPECT_EQ(run({"small.yaml", "--quiet", "--set", "log.json=words.jsonl"}).exit_code, 0);
  EXPECT_EQ(json_lines(TempFolder::read(folder_.path("words.jsonl"))).back()["event"], "done");
}

TEST_F(TrainCommandTest, TheLogEndsWithTheFailure) {
  folder_.write("part-2.csv", "1,2,0\n1,x,0\n");
  const CommandResult result = run({"small.yaml", "--json", "--quiet", "--set", "log.json=log.jsonl"});
  EXPECT_EQ(result.exit_code, 65);
  EXPECT_EQ(json_lines(result.out).back()["event"], "error");
  EXPECT_EQ(TempFolder::read(folder_.path("log.jsonl")), result.out);
}

TEST_F(TrainCommandTest, TheLogIsNoFileThatIsInUse) {
  const std::string data = TempFolder::read(folder_.path("part-1.csv"));
  for (const char* command : {"train", "check"}) {
    const CommandResult used = run({command, "small.yaml", "--set", "log.json=part-1.csv"});
    EXPECT_EQ(used.exit_code, 78);
    EXPECT_EQ(used.err,
              "error: --set log.json=part-1.csv: log: json: would overwrite \"part-1.csv\", which this run reads\n"
              "hint: give it another name\n");
    EXPECT_EQ(run({command, "small.yaml", "--set", "log.json=none/log.jsonl"}).exit_code, 74);
  }
  EXPECT_EQ(TempFolder::read(folder_.path("part-1.csv")), data);
  const CommandResult trace = run({"small.yaml", "--trace", "log.jsonl", "--set", "log.json=./log.jsonl"});
  EXPECT_EQ(trace.exit_code, 2);
  EXPECT_EQ(trace.err, "error: --trace \"log.jsonl\" is the file of the key log.json\nhint: give it another name\n");
}

// As if the disk were full after one kilobyte.
TEST_F(TrainCommandTest, ALogThatCannotBeWrittenEndsNothing) {
  const CommandResult result = millrace::testing::run_command(
      {"/bin/bash", "-c", "ulimit -f 1; exec \"$@\"", "bash", millrace::testing::trainer_program(), "small.yaml",
       "--json", "--set", "log.json=log.jsonl", "--set", "train.log_every=1"},
      {.folder = folder_.path()});
  EXPECT_EQ(result.exit_code, 74);
  EXPECT_NE(
      result.err.find("\nwarning: the log lacks a line, and may lack more: log.jsonl: cannot write: File too large\n"),
      std::string::npos)
      << result.err;
  EXPECT_TRUE(result.err.ends_with("\nerror: the log lacks lines: log.jsonl: cannot write: File too large\n"))
      << result.err;
  const std::vector<nlohmann::json> events = json_lines(result.out);
  EXPECT_EQ(events.size(), 15u) << "start, 12 steps, one warning, done";
  EXPECT_EQ(events.back()["event"], "done");
  const std::string log = TempFolder::read(folder_.path("log.jsonl"));
  EXPECT_TRUE(result.out.starts_with(log.substr(0, log.find("\"step\":2,")))) << log;
  EXPECT_FALSE(json_lines(log).empty()) << "no line is torn";
}

TEST_F(TrainCommandTest, ASignalThatAsksForACheckpointEndsNothing) {
  folder_.write("endless.yaml", millrace::testing::endless_config());
  Command command(trainer_words({"endless.yaml", "--json"}), {.folder = folder_.path()});
  ASSERT_TRUE(command.wait_for_out("\"step\":1000,"));
  command.send(SIGUSR1);
  const std::string warning = "warning: SIGUSR1 asks for a checkpoint, but the configuration lacks the key checkpoint";
  ASSERT_TRUE(command.wait_for_err(warning));
  command.send(SIGUSR1);
  EXPECT_FALSE(command.ends_within(100));
  command.send(SIGTERM);
  const CommandResult result = command.finish();
  EXPECT_EQ(result.exit_code, 143);
  int64_t told = 0;
  for (const nlohmann::json& event : json_lines(result.out)) told += event.value("message", "") == warning;
  EXPECT_EQ(told, 1);
}

TEST_F(TrainCommandTest, BadRowsFileIsCheckedBeforeTheTraining) {
  ASSERT_EQ(::mkfifo(folder_.path("pipe").c_str(), 0600), 0);
  for (const char* command : {"check", "train", "input"}) {
    const auto run_with = [&](const std::string& file) {
      return run({command, "small.yaml", "--set", "input.decode_csv.on_bad_row=skip", "--set",
                  "input.decode_csv.bad_rows_file=" + file});
    };
    const CommandResult pipe = run_with("pipe");
    EXPECT_EQ(pipe.exit_code, 74);
    EXPECT_EQ(pipe.err, "error: pipe: bad_rows_file: cannot write: it exists and is not a regular file\n");
    EXPECT_EQ(pipe.out, "");
    const CommandResult missing = run_with("none/bad.jsonl");
    EXPECT_EQ(missing.exit_code, 74);
    EXPECT_EQ(missing.err,
              "error: none/bad.jsonl: bad_rows_file: cannot write: No such file or directory\nhint: make the folder "
              "\"none\" first\n");
    EXPECT_EQ(run_with("bad.jsonl").exit_code, 0);
    EXPECT_FALSE(std::filesystem::exists(folder_.path("bad.jsonl"))) << "there was no bad row";
  }
}

TEST_F(TrainCommandTest, SaveDoesNotOverwriteTheProgram) {
  const std::string program = folder_.path("trainer");
  std::filesystem::copy_file(millrace::testing::trainer_program(), program);
  const auto size = std::filesystem::file_size(program);
  const CommandResult result = millrace::testing::run_command({program, "small.yaml", "--quiet", "--save", "./trainer"},
                                                              {.folder = folder_.path()});
  EXPECT_EQ(result.exit_code, 78);
  EXPECT_EQ(result.err,
            "error: --save ./trainer: save: would overwrite \"./trainer\", which is running\nhint: give it another "
            "name\n");
  EXPECT_EQ(std::filesystem::file_size(program), size);
}

TEST_F(TrainCommandTest, InterruptKeepsTheBestModelAndTheLast) {
  const std::string validation =
      "validation: {input: [synthetic: {task: sum, features: 8, rows: 64}, batch: {batch_size: 64}], every: 100, "
      "keep_best: {mode: max}}\n";  // the first is the best
  folder_.write("best.yaml", millrace::testing::endless_config() + validation);
  for (const int number : {SIGINT, SIGTERM}) {
    Command text(trainer_words({"best.yaml", "--save", "m.safetensors"}), {.folder = folder_.path()});
    ASSERT_TRUE(text.wait_for_err("step 300  validation"));
    text.send(number);
    const CommandResult printed = text.finish();
    EXPECT_NE(printed.out.find("\nbest: step 100  loss "), std::string::npos) << printed.out;
    EXPECT_THAT(printed.out, ::testing::ContainsRegex("\nmodel: m.safetensors\nlast: m.last.safetensors  "
                                                      "\\(the model of step [0-9]+\\)\n$"));
    EXPECT_TRUE(std::filesystem::remove(folder_.path("m.safetensors")));
    EXPECT_TRUE(std::filesystem::remove(folder_.path("m.last.safetensors")));
  }
  Command json(trainer_words({"best.yaml", "--json", "--save", "m.safetensors"}), {.folder = folder_.path()});
  ASSERT_TRUE(json.wait_for_err("step 300  validation"));
  json.send(SIGINT);
  const nlohmann::json done = json_lines(json.finish().out).back();
  EXPECT_EQ(done["saved"], "m.safetensors");
  EXPECT_EQ(done["saved_last"], "m.last.safetensors");
  EXPECT_NE(TempFolder::read(folder_.path("m.safetensors")), TempFolder::read(folder_.path("m.last.safetensors")));
}

TEST_F(TrainCommandTest, SaysWhenTheDataLieBesideTheConfiguration) {
  const std::string config = folder_.path("small.yaml");
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{config}, {"input", config}, {"check", config}}) {
    const CommandResult result = run_trainer(words, {.folder = "/"});
    EXPECT_EQ(result.exit_code, 66);
    EXPECT_EQ(result.err, cat("error: ", config, ":5:29: no file matches \"part-*.csv\"\n",
                              "hint: paths are relative to the current folder, and ",
                              quote(folder_.path("part-*.csv"), 4096), " exists: run it from there\n"));
  }
}

TEST_F(TrainCommandTest, OverridesAreTypedAndLocated) {
  const CommandResult result = run({"small.yaml", "--set", "train.steps=abc"});
  EXPECT_EQ(result.exit_code, 78);
  EXPECT_EQ(result.err, "error: --set train.steps=abc: train.steps: expected an integer, got \"abc\"\n");
}

TEST(VersionOption, NamesEverythingABugReportNeeds) {
  const auto result = run_trainer({"--version"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, ::testing::MatchesRegex("trainer \\(millrace\\) [0-9]+\\.[0-9]+\\.[0-9]+\n"
                                                  "build: [A-Za-z]+, [a-z+]+ [0-9.]+\n"
                                                  "cuda: [^\n]+\n"
                                                  "processor: [^\n]+\n"
                                                  "libraries: oneDNN [0-9.]+, oneTBB [0-9.]+[a-z0-9., ]*\n"));
}

}  // namespace
}  // namespace millrace::cli
