// --plugin, of the program as a user runs it: only a program that exports the library's names can load one.
#include <gtest/gtest.h>

#include <filesystem>

#include "millrace/core/text.h"
#include "tests/support/temp_folder.h"
#include "tests/support/trainer_program.h"

namespace millrace::cli {
namespace {

using ::millrace::testing::CommandResult;
using ::millrace::testing::run_trainer;

class PluginOptionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(plugin_)) GTEST_SKIP() << plugin_ << " is not there";
    folder_.write("swish.yaml",
                  "device: cpu\ninput: [{synthetic: {features: 16, rows: 400}}, {batch: {batch_size: 20}}]\n"
                  "model: [{dense: {units: 8}}, {swish: {beta: 2}}, {dense: {units: 1}}]\n"
                  "loss: sigmoid_cross_entropy\noptimizer: {sgd: {learning_rate: 0.1}}\n");
    folder_.write("data.csv", "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,0\n");
  }

  CommandResult run(std::vector<std::string> arguments) {
    return run_trainer(std::move(arguments), {.folder = folder_.path()});
  }

  TempFolder folder_;
  const std::string plugin_ = test::plugin("swish");
};

TEST_F(PluginOptionTest, AddsKindsToEveryCommandThatReadsAConfiguration) {
  const CommandResult trained = run({"--plugin", plugin_, "swish.yaml", "--save", "m.safetensors"});
  EXPECT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_NE(cat(trained.out, trained.err).find("20 steps"), std::string::npos) << trained.out << trained.err;
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"check", "swish.yaml"},
           {"input", "swish.yaml", "--batches", "1"},
           {"evaluate", "--model", "m.safetensors", "data.csv", "--set",
            "input=[{filename_queue: {files: data.csv}}, {csv_reader: {header: false}}, "
            "{decode_csv: {fields: {features: {columns: 0-15}, label: {columns: 16}}}}, {batch: {batch_size: 20}}]"},
           {"layers", "swish"},
           {"schema"}}) {
    std::vector<std::string> with = words;
    with.insert(with.end(), {"--plugin", plugin_});
    const CommandResult result = run(with);
    EXPECT_EQ(result.exit_code, 0) << words[0] << ": " << result.err;
  }
  EXPECT_NE(run({"layers", "--plugin", plugin_}).out.find("swish"), std::string::npos);
  EXPECT_EQ(run({"layers"}).out.find("swish"), std::string::npos);
  const CommandResult without = run({"swish.yaml"});
  EXPECT_EQ(without.exit_code, 78);
  EXPECT_NE(without.err.find("unknown layer \"swish\""), std::string::npos) << without.err;
}

TEST_F(PluginOptionTest, SeesTheConfigurationsFaults) {
  const CommandResult result = run({"--plugin", plugin_, "swish.yaml", "--set", "model.swish.beta=-1"});
  EXPECT_EQ(result.exit_code, 78);
  EXPECT_NE(result.err.find("model[1].swish.beta: expected at least 0, got -1"), std::string::npos) << result.err;
}

TEST_F(PluginOptionTest, IsRefusedTwiceAndWhereItIsNone) {
  const CommandResult twice = run({"--plugin", plugin_, "--plugin", plugin_, "swish.yaml"});
  EXPECT_EQ(twice.exit_code, 78);
  EXPECT_NE(twice.err.find("the layer swish is registered twice"), std::string::npos) << twice.err;
  const CommandResult none = run({"--plugin", "data.csv", "swish.yaml"});
  EXPECT_EQ(none.exit_code, 78);
  EXPECT_NE(none.err.find("data.csv: it is not a plug-in of Millrace"), std::string::npos) << none.err;
  const CommandResult missing = run({"--plugin", "no.so", "swish.yaml"});
  EXPECT_EQ(missing.exit_code, 66);
}

TEST_F(PluginOptionTest, ThatFailsHalfWayAddsNothing) {
  const std::string failing = test::plugin("failing_plugin");
  if (!std::filesystem::exists(failing)) GTEST_SKIP() << failing << " is not there";
  const CommandResult result = run({"layers", "same", "--plugin", failing});
  EXPECT_EQ(result.exit_code, 78);
  EXPECT_NE(result.err.find(failing + ": the plug-in failed: no second half"), std::string::npos) << result.err;
  EXPECT_EQ(result.out, "");
}

TEST_F(PluginOptionTest, ThatIsCutOffIsRefused) {
  const std::string bytes = TempFolder::read(plugin_);
  int refused = 0;
  for (size_t parts = 1; parts <= 16; ++parts) {
    folder_.write("cut.so", bytes.substr(0, bytes.size() * parts / 16));
    const CommandResult result = run({"layers", "--plugin", "cut.so"});
    EXPECT_EQ(result.signal, 0) << parts;
    // The end of the file holds what nobody loads.
    EXPECT_TRUE(result.exit_code == 78 || (parts > 8 && result.exit_code == 0)) << parts << ": " << result.err;
    if (result.err.find("cut.so: the plug-in cannot be loaded: it is cut off") != std::string::npos) ++refused;
  }
  EXPECT_GT(refused, 0);
}

// A file that is one but for what it is made for.
TEST_F(PluginOptionTest, OfAnotherVersionIsRefusedBeforeItRuns) {
  std::string bytes = TempFolder::read(plugin_);
  const std::string mark = "millrace plug-in\n";
  const size_t at = bytes.find(mark);
  ASSERT_NE(at, std::string::npos);
  bytes[at + mark.size()] = '9';
  folder_.write("other.so", bytes);
  const CommandResult result = run({"--plugin", "other.so", "swish.yaml"});
  EXPECT_EQ(result.exit_code, 78);
  EXPECT_NE(result.err.find("the plug-in was built for Millrace \"9."), std::string::npos) << result.err;
}

}  // namespace
}  // namespace millrace::cli
