#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/support/temp_folder.h"
#include "tests/support/trainer_program.h"

namespace millrace::cli {
namespace {

using ::millrace::testing::CommandResult;
using ::millrace::testing::run_trainer;

class VerifyResumeCommand : public ::testing::Test {
 protected:
  VerifyResumeCommand() {
    millrace::testing::write_small_data(folder_);
    std::filesystem::create_directory(folder_.path("tmp"));
    before_ = files();
  }

  std::vector<std::string> words(std::vector<std::string> more) const {
    std::vector<std::string> out = {"verify-resume", "small.yaml", "--set", "input.filename_queue.epochs=10"};
    out.insert(out.end(), more.begin(), more.end());
    return out;
  }
  millrace::testing::CommandOptions options() const {
    return {.folder = folder_.path(), .environment = {"TMPDIR=" + folder_.path("tmp")}};
  }
  CommandResult run(std::vector<std::string> more) const { return run_trainer(words(std::move(more)), options()); }

  std::set<std::string> files() const {
    std::set<std::string> out;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path())) out.insert(entry.path());
    return out;
  }

  const TempFolder folder_;
  std::set<std::string> before_;
};

TEST_F(VerifyResumeCommand, FindsTheWeightsOfATrainingThatIsNotKilled) {
  folder_.write("small.yaml", millrace::testing::small_config() + std::string("save: mine.safetensors\n"));
  const CommandResult result = run({"--kills", "12", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
  const auto event = nlohmann::json::parse(result.out);
  EXPECT_EQ(event["event"], "verify_resume");
  EXPECT_EQ(event["kills"], 12);
  EXPECT_EQ(event["equal"], true);
  EXPECT_EQ(event["weights"], event["resumed_weights"]);
  EXPECT_EQ(event["steps"], 58);
  EXPECT_EQ(event["rows"], 400);
  int64_t kills = 0;
  for (const auto& [where, count] : event["where"].items()) {
    if (count.is_number()) kills += count.get<int64_t>();
  }
  for (const auto& [call, count] : event["where"]["writing"].items()) kills += count.get<int64_t>();
  EXPECT_EQ(kills, 12);
  EXPECT_EQ(files(), before_) << "writes only in its own folder";
  EXPECT_NE(result.err.find("training without interruption\nkilling and resuming, about "), std::string::npos)
      << result.err;

  const CommandResult trained =
      run_trainer({"train", "small.yaml", "--json", "--quiet", "--set", "input.filename_queue.epochs=10"},
                  {.folder = folder_.path()});
  EXPECT_NE(trained.out.find(event["weights"].get<std::string>()), std::string::npos) << trained.out;
}

TEST_F(VerifyResumeCommand, GoesOnWithEverythingThatATrainingKeeps) {
  folder_.write("part-2.csv", "1,2,0\n1,x,0\n3,4,1\n5,y,1\n6,7,0\n8,9,1\n2,3,0\n");
  folder_.write("valid.csv", "1,2,0\n30,4,1\n5,6,1\n7,8,0\n");
  const std::set<std::string> before = files();
  const CommandResult result = run(
      {"--kills", "15", "--set", "input.decode_csv.on_bad_row=skip", "--set", "input.decode_csv.bad_rows_file=bad",
       "--set", "input[3]={shuffle_batch: {batch_size: 6, min_after_dequeue: 20}}", "--set",
       "train={accumulate: 3, report_over: window, log_every: 4}", "--set", "optimizer={adam: {learning_rate: 0.01}}",
       "--set", "model=[{dense: {units: 4}}, batch_norm, {dropout: {rate: 0.2}}, {dense: {units: 1}}]", "--set",
       "validation={every: 7, files: valid.csv, keep_best: true, patience: 50}"});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_TRUE(result.out.starts_with("equal: ")) << result.out;
  EXPECT_EQ(files(), before);
}

TEST_F(VerifyResumeCommand, KeepsWhatItIsAskedToKeep) {
  const CommandResult result = run({"--kills", "1", "--keep", "kept", "--quiet"});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_TRUE(std::filesystem::exists(folder_.path("kept/uninterrupted/model.safetensors")));
  EXPECT_TRUE(std::filesystem::exists(folder_.path("kept/resumed-1/model.safetensors")));
  const CommandResult again = run({"--kills", "1", "--keep", "kept"});
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_NE(again.err.find("--keep \"kept\": the folder is not empty"), std::string::npos) << again.err;
}

TEST_F(VerifyResumeCommand, FindsWhatIsNotResumed) {
  const CommandResult result = run({"--kills", "1000", "--json", "--plugin", test::plugin("forgetful_plugin"), "--set",
                                    "model=[{dense: {units: 3}}, forgetful, {dense: {units: 1}}]"});
  ASSERT_EQ(result.exit_code, 70) << result.out << result.err;
  const auto event = nlohmann::json::parse(result.out);
  EXPECT_EQ(event["equal"], false);
  EXPECT_GT(event["parts_at"], 0);
  EXPECT_NE(event["difference"].get<std::string>().find("which went on from step "), std::string::npos) << result.out;
  const std::string kept = event["kept"];
  EXPECT_TRUE(std::filesystem::exists(kept + "/uninterrupted/model.safetensors")) << kept;
  EXPECT_TRUE(kept.starts_with(folder_.path("tmp/"))) << kept;
}

TEST_F(VerifyResumeCommand, TellsWhyATrainingFails) {
  folder_.write("part-3.csv", "1,2,0\n1,x,0\n");
  const CommandResult result = run({"--kills", "3", "--json"});
  EXPECT_EQ(result.exit_code, 65) << result.out << result.err;
  EXPECT_NE(result.err.find("part-3.csv:2:"), std::string::npos) << result.err;
  EXPECT_EQ(nlohmann::json::parse(result.out)["kind"], "data");
  EXPECT_EQ(files(), before_);
}

TEST_F(VerifyResumeCommand, RefusesWhatHasNoEnd) {
  folder_.write("small.yaml", millrace::testing::endless_config());
  const CommandResult result = run_trainer({"verify-resume", "small.yaml"}, options());
  EXPECT_EQ(result.exit_code, 78);
  EXPECT_NE(result.err.find("--set train.steps=1000"), std::string::npos) << result.err;
}

TEST_F(VerifyResumeCommand, RefusesSettingsThatChangeNothing) {
  for (const char* setting : {"save=a", "checkpoint=b", "compare.rounds=2"}) {
    const CommandResult result = run({"--set", setting});
    EXPECT_EQ(result.exit_code, 78) << setting;
    EXPECT_NE(result.err.find("the setting changes nothing here"), std::string::npos) << result.err;
  }
}

TEST_F(VerifyResumeCommand, EndsAtASignalAndLeavesNothing) {
  folder_.write("small.yaml", millrace::testing::endless_config());
  for (const char* said : {"training without interruption", "killing and resuming"}) {
    const bool first = said[0] == 't';
    const std::vector<std::string> words = {"verify-resume", "small.yaml",
                                            "--kills",       "1000000",
                                            "--set",         first ? "train.steps=1000000000000" : "train.steps=200"};
    millrace::testing::Command command(millrace::testing::trainer_words(words), options());
    ASSERT_TRUE(command.wait_for_err(said));
    command.send(SIGTERM);
    const CommandResult result = command.finish();
    EXPECT_EQ(result.exit_code, 143) << result.err;
    EXPECT_EQ(files(), before_);
  }
}

}  // namespace
}  // namespace millrace::cli
