// Wrong configurations and wrong data beside what the program says about them.
//
// <name>.expected holds `exit <code>`, perhaps `args <words>` (those behind `trainer`; `check <name>.yaml` otherwise),
// and then all of standard error. It is run in this folder, so places are as a user would see them.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/paths.h"
#include "tests/support/run_command.h"

namespace millrace {
namespace {

std::filesystem::path folder() { return std::filesystem::path(test::source_dir()) / "tests/errors"; }

std::vector<std::string> case_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder())) {
    if (entry.path().extension() == ".expected") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

struct Case {
  int exit_code = -1;
  std::vector<std::string> words;
  std::string text;
};

Case read_case(const std::string& name) {
  Case out;
  out.words = {"check", name + ".yaml"};
  std::ifstream file(folder() / (name + ".expected"));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("exit ")) {
      out.exit_code = std::stoi(line.substr(5));
    } else if (line.starts_with("args ")) {
      std::istringstream words(line.substr(5));
      out.words.clear();
      for (std::string word; words >> word;) out.words.push_back(word);
    } else {
      out.text += line + '\n';
    }
  }
  return out;
}

testing::CommandResult run(std::vector<std::string> words) {
  words.insert(words.begin(), MILLRACE_TRAINER);
  return testing::run_command(words, {.folder = folder().string(), .environment = {"NO_COLOR=1"}, .out_file = {}});
}

class ErrorFiles : public ::testing::TestWithParam<std::string> {};

TEST_P(ErrorFiles, ThePlaceTheMessageAndTheHint) {
  const Case expected = read_case(GetParam());
  const testing::CommandResult result = run(expected.words);
  EXPECT_EQ(result.exit_code, expected.exit_code);
  EXPECT_EQ(result.err, expected.text);
  EXPECT_EQ(result.out, "");
}

// The event with --json says the same in parts, as the last line of standard output.
TEST_P(ErrorFiles, TheEventSaysTheSame) {
  const Case expected = read_case(GetParam());
  std::vector<std::string> words = expected.words;
  words.push_back("--json");
  const testing::CommandResult result = run(words);
  EXPECT_EQ(result.exit_code, expected.exit_code);
  const std::string text = result.out.substr(0, result.out.size() - 1);
  const auto event = nlohmann::json::parse(text.substr(text.rfind('\n') + 1));
  EXPECT_EQ(event["v"], 1);
  EXPECT_EQ(event["event"], "error");
  const std::pair<int, const char*> kinds[] = {{2, "usage"}, {65, "data"}, {66, "missing"}, {74, "io"}, {78, "config"}};
  for (const auto& [code, kind] : kinds) {
    if (code == expected.exit_code) {
      EXPECT_EQ(event["kind"], kind);
    }
  }
  std::string told = "error: ";
  if (event["file"].is_string()) {
    told += event["file"].get<std::string>();
    for (const char* number : {"line", "column"}) {
      if (event[number].is_number()) told += ':' + std::to_string(event[number].get<int64_t>());
    }
    told += ": ";
  }
  told += event["message"].get<std::string>() + '\n';
  if (event["hint"].is_string()) told += "hint: " + event["hint"].get<std::string>() + '\n';
  EXPECT_EQ(told, expected.text);
}

std::string name_of(const ::testing::TestParamInfo<std::string>& one) { return one.param; }
INSTANTIATE_TEST_SUITE_P(All, ErrorFiles, ::testing::ValuesIn(case_names()), name_of);

TEST(ErrorFolder, EveryConfigurationHasItsExpectation) {
  for (const auto& entry : std::filesystem::directory_iterator(folder())) {
    if (entry.path().extension() != ".yaml" || entry.path().stem() == "good") continue;
    EXPECT_TRUE(std::filesystem::exists(std::filesystem::path(entry.path()).replace_extension(".expected")))
        << entry.path();
  }
}

}  // namespace
}  // namespace millrace
