// `trainer speed`, from outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/temp_folder.h"
#include "tests/support/trainer_program.h"

namespace millrace::cli {
namespace {

using ::millrace::testing::CommandResult;
using ::millrace::testing::run_trainer;
using ::testing::HasSubstr;

TEST(SpeedCommandTest, MeasuresAndNamesTheBottleneck) {
  const TempFolder folder;
  millrace::testing::write_small_data(folder);
  const CommandResult result =
      run_trainer({"speed", "small.yaml", "--rounds", "1", "--json"}, {.folder = folder.path()});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("round 1 of 1: step, input, both\n"));
  const nlohmann::json json = nlohmann::json::parse(result.out);
  EXPECT_GT(json["input"]["rows_per_s"].get<double>(), 0);
  EXPECT_GT(json["input"]["bytes_per_s"].get<double>(), 0);
  EXPECT_GT(json["together"]["ms"]["median"].get<double>(), 0);
  EXPECT_THAT(json["bottleneck"].get<std::string>(), ::testing::AnyOf("input", "step", "none"));
}

TEST(SpeedCommandTest, RefusesDataThatComeOnce) {
  const TempFolder folder;
  millrace::testing::write_small_data(folder);
  const CommandResult result =
      run_trainer({"speed", "small.yaml", "--set", "input.filename_queue.files=-"}, {.folder = folder.path()});
  EXPECT_EQ(result.exit_code, 78);
  EXPECT_THAT(result.err, HasSubstr("the speed is measured by reading the data again and again, and these come once"));
}

// It trains without end, and neither validates nor saves.
TEST(SpeedCommandTest, SettingsThatAreNotHeededAreAnError) {
  const TempFolder folder;
  millrace::testing::write_small_data(folder);
  for (const char* setting : {"save=m.safetensors", "checkpoint=runs", "log.json=a.jsonl", "train.steps=7",
                              "input.filename_queue.epochs=7", "compare.rounds=1", "validation={files: part-1.csv}"}) {
    const CommandResult result = run_trainer({"speed", "small.yaml", "--set", setting}, {.folder = folder.path()});
    EXPECT_EQ(result.exit_code, 78) << setting;
    EXPECT_EQ(result.err, std::string("error: --set ") + setting +
                              ": the setting changes nothing here\n"
                              "hint: leave it out: this command does not heed it\n");
  }
}

}  // namespace
}  // namespace millrace::cli
