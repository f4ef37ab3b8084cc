// The configuration that `trainer config --example` prints, tried as its first lines say.
#include "millrace/cli/reference/example_config.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/temp_folder.h"
#include "tests/support/trainer_program.h"

namespace millrace::cli {
namespace {

using ::millrace::testing::CommandResult;
using ::millrace::testing::run_trainer;

TEST(ExampleConfig, TrainsAndPredictsAsItSays) {
  const TempFolder folder;
  const auto run = [&](std::vector<std::string> words) {
    const std::string command = words.front();
    const CommandResult result = run_trainer(std::move(words), {.folder = folder.path()});
    EXPECT_EQ(result.exit_code, 0) << command << ": " << result.err;
    return result.out;
  };
  const std::string printed = run({"config", "--example"});
  EXPECT_EQ(printed, example_config());
  folder.write("mlp.yaml", printed);
  run({"generate", "sum", "--features", "8", "--out", "data/sum"});
  EXPECT_EQ(run({"check", "mlp.yaml"}).find("warning"), std::string::npos);
  const std::string events = run({"mlp.yaml", "--save", "model.safetensors", "--json", "--quiet"});
  const nlohmann::json done = nlohmann::json::parse(events.substr(events.rfind('\n', events.size() - 2) + 1));
  EXPECT_GT(done["metrics"]["accuracy"], 0.9) << done;
  const std::string rows = run({"predict", "--model", "model.safetensors", "--data", "data/sum/*.csv"});
  EXPECT_EQ(std::count(rows.begin(), rows.end(), '\n'), 2001);
}

}  // namespace
}  // namespace millrace::cli
