// Whatever command writes JSON: every line of it is an object that has the version of docs/json.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "millrace/cli/commands/commands.h"
#include "tests/support/temp_folder.h"
#include "tests/support/trainer_program.h"

namespace millrace::cli {
namespace {

using ::millrace::testing::CommandResult;
using ::millrace::testing::run_trainer;

using Words = std::vector<std::string>;

bool writes_json(const Command& command) {
  return std::ranges::any_of(command.arguments, [](const Argument& argument) {
    return std::ranges::count(argument.names, "--json") > 0 || argument.value.find("jsonl") != std::string::npos;
  });
}

class JsonLines : public ::testing::Test {
 protected:
  JsonLines() {
    millrace::testing::write_small_data(folder_);
    folder_.write("new.csv", "1,2,0\n-3,4,1\n");
  }

  void expect_version(const std::string& text, const std::string& command) const {
    std::istringstream lines(text);
    std::string line;
    for (; std::getline(lines, line); line.clear()) {
      const nlohmann::json object = nlohmann::json::parse(line, nullptr, false);
      ASSERT_TRUE(object.is_object()) << command << ": " << line;
      EXPECT_EQ(object.value("v", 0), 1) << command << ": " << line;
    }
    EXPECT_FALSE(text.empty()) << command;
  }

  const TempFolder folder_;
};

// Several ways to call a command, where it writes lines of several sorts.
const std::multimap<std::string, Words> kCalls = {
    {"", {"small.yaml", "--json", "--save", "m.safetensors"}},
    {"train", {"train", "small.yaml", "--json"}},
    {"train", {"train", "small.yaml", "--json", "--set", "train.stepz=1"}},
    {"check", {"check", "small.yaml", "--json", "--print"}},
    {"input", {"input", "small.yaml", "--json"}},
    {"input", {"input", "small.yaml", "--json", "--explain", "1"}},
    {"convert", {"convert", "small.yaml", "--to", "csv", "--out", "rows.csv", "--json"}},
    {"speed", {"speed", "small.yaml", "--rounds", "1", "--json"}},
    {"compare", {"compare", "small.yaml", "--set", "compare.rounds=1", "--set", "compare.warm_up=1", "--json", "-"}},
    {"verify-resume", {"verify-resume", "small.yaml", "--kills", "1", "--json"}},
    {"evaluate", {"evaluate", "--model", "m.safetensors", "--data", "new.csv", "--json"}},
    {"predict", {"predict", "--model", "m.safetensors", "--data", "new.csv", "--format", "jsonl"}},
    {"predict", {"predict", "--model", "m.safetensors", "--data", "new.csv", "--format", "jsonl", "--raw"}},
    {"checkpoints", {"checkpoints", ".", "--json"}},
    {"ops", {"ops", "--json"}},
    {"layers", {"layers", "--json"}},
    {"config", {"config", "--json"}},
    {"doctor", {"doctor", "--json"}},
};

TEST_F(JsonLines, HaveTheVersionWhateverTheCommand) {
  const Command all = program();
  for (const Command* command : all_commands(all)) {
    if (!writes_json(*command)) continue;
    const auto [first, last] = kCalls.equal_range(std::string(command->about.path));
    EXPECT_NE(first, last) << command->line() << " writes JSON: try it here";
    for (auto call = first; call != last; ++call) {
      const CommandResult result = run_trainer(call->second, {.folder = folder_.path()});
      expect_version(result.out, ::testing::PrintToString(call->second) + result.err);
    }
  }
}

TEST_F(JsonLines, OfBadRowsHaveTheVersion) {
  folder_.write("part-1.csv", "1,2,0\n1,x,0\n1,2\n");
  run_trainer({"input", "small.yaml", "--format", "none", "--set", "input.decode_csv.on_bad_row=skip", "--set",
               "input.decode_csv.bad_rows_file=bad.jsonl"},
              {.folder = folder_.path()});
  expect_version(TempFolder::read(folder_.path("bad.jsonl")), "bad_rows_file");
}

}  // namespace
}  // namespace millrace::cli
