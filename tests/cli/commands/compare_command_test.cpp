// `trainer compare`, from outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/support/temp_folder.h"
#include "tests/support/trainer_program.h"

namespace millrace::cli {
namespace {

using ::millrace::testing::CommandResult;
using ::millrace::testing::run_trainer;
using ::testing::HasSubstr;

class CompareCommandTest : public ::testing::Test {
 protected:
  CompareCommandTest() { millrace::testing::write_small_data(folder_); }

  CommandResult run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(),
                     {"compare", "small.yaml", "--set", "compare.rounds=2", "--set", "compare.warm_up=1"});
    return run_trainer(std::move(arguments), {.folder = folder_.path()});
  }

  TempFolder folder_;
};

TEST_F(CompareCommandTest, PrintsATableAndWritesJsonAndAPage) {
  const CommandResult result = run({"--json", "out.json", "--html", "out.html"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("feed, queue, staging and native trained the same model: weights "));
  EXPECT_EQ(result.err, "warming up\nround 1 of 2\nround 2 of 2\n");
  const nlohmann::json json = nlohmann::json::parse(TempFolder::read(folder_.path("out.json")));
  EXPECT_EQ(json["deliveries"].size(), 5u);
  EXPECT_EQ(json["equal_weights"], true);
  EXPECT_THAT(TempFolder::read(folder_.path("out.html")), HasSubstr("</html>"));
}

TEST_F(CompareCommandTest, GivesJsonOnStandardOutput) {
  const CommandResult result = run({"--json", "-", "--quiet"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(nlohmann::json::parse(result.out)["v"], 1);
  EXPECT_THAT(result.err, HasSubstr("over feed"));
  EXPECT_THAT(result.err, ::testing::Not(HasSubstr("round 1")));
}

TEST_F(CompareCommandTest, ASignalWhileResultsAreWrittenLosesNoFile) {
  millrace::testing::Command command(
      millrace::testing::trainer_words({"compare", "small.yaml", "--set", "compare.rounds=2", "--set",
                                        "compare.warm_up=1", "--quiet", "--json", "out.json", "--html", "out.html"}),
      {.folder = folder_.path(), .full_out = true});
  while (!std::filesystem::exists(folder_.path("out.html"))) ASSERT_FALSE(command.ends_within(1));
  command.send(SIGTERM);
  EXPECT_EQ(command.finish_unread().exit_code, 143);
  EXPECT_EQ(nlohmann::json::parse(TempFolder::read(folder_.path("out.json")))["v"], 1);
  EXPECT_THAT(TempFolder::read(folder_.path("out.html")), HasSubstr("</html>"));
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    EXPECT_NE(entry.path().extension(), ".tmp");
  }
}

TEST_F(CompareCommandTest, AFileThatCannotBeWrittenIsAnErrorEvenIfNobodyReads) {
  std::vector<std::string> words = {"/bin/bash", "-c", "ulimit -f 0 && exec \"$@\"", "limited"};
  for (std::string& word :
       millrace::testing::trainer_words({"compare", "small.yaml", "--set", "compare.rounds=2", "--set",
                                         "compare.warm_up=1", "--quiet", "--html", "out.html"})) {
    words.push_back(std::move(word));
  }
  millrace::testing::Command command(words, {.folder = folder_.path()});
  command.close_out();
  const CommandResult result = command.finish();
  EXPECT_EQ(result.exit_code, 74);
  EXPECT_EQ(result.err, "error: out.html: cannot write: File too large\n");
}

TEST_F(CompareCommandTest, RefusesDataThatComeOnce) {
  const CommandResult result = run({"--set", "input.filename_queue.files=-", "--set", "input.filename_queue.epochs=1"});
  EXPECT_EQ(result.exit_code, 78);
  EXPECT_THAT(result.err, HasSubstr("a comparison reads the data of every training anew, and these come once"));
}

TEST_F(CompareCommandTest, WritesOverNothingThatItNeeds) {
  for (const char* file : {"small.yaml", "part-1.csv"}) {
    const std::string before = TempFolder::read(folder_.path(file));
    const CommandResult result = run({"--html", file});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err, HasSubstr("would overwrite"));
    EXPECT_EQ(TempFolder::read(folder_.path(file)), before);
  }
  EXPECT_EQ(run({"--html", "x", "--json", "./x"}).exit_code, 2);
  EXPECT_EQ(run({"--html", "-"}).exit_code, 2);
}

TEST_F(CompareCommandTest, FindsOutFirstThatItCannotWrite) {
  const CommandResult result = run({"--html", "no/such/folder/x.html"});
  EXPECT_EQ(result.exit_code, 74);
  EXPECT_EQ(result.err.find("warming up"), std::string::npos) << result.err;
}

TEST_F(CompareCommandTest, SettingsThatAreNotHeededAreAnError) {
  for (const char* setting : {"save=m.safetensors", "checkpoint=runs", "log.json=a.jsonl", "delivery=feed",
                              "validation={files: part-1.csv}"}) {
    const CommandResult result = run({"--set", setting});
    EXPECT_EQ(result.exit_code, 78) << setting;
    EXPECT_THAT(result.err, HasSubstr("the setting changes nothing here"));
  }
}

TEST_F(CompareCommandTest, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(run({"--jsn", "x"}).exit_code, 2);
  EXPECT_EQ(run({"--set", "compare.round=3"}).exit_code, 78);
}

}  // namespace
}  // namespace millrace::cli
