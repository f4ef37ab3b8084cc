// What the program says of every case of tests/errors/ as an event with --json: the same as its text, in parts. And of
// wrong arguments: tests/errors/arguments/NAME.expected holds the exit code, `args <words>` behind `trainer`, and all
// of standard error; the folder's good.yaml has no faults.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/paths.h"
#include "tests/support/trainer_program.h"

namespace millrace::cli {
namespace {

std::filesystem::path folder() { return std::filesystem::path(test::source_dir()) / "tests" / "errors"; }

struct Case {
  std::filesystem::path folder;
  std::string name;
  int exit_code = -1;
  std::vector<std::string> words;  // behind `trainer`
  std::string text;
};

Case read_case(const std::filesystem::path& path) {
  Case out{.folder = path.parent_path(), .name = path.stem().string(), .words = {}, .text = {}};
  out.words = {"--config", out.name + ".yaml"};
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("exit ")) {
      out.exit_code = std::stoi(line.substr(5));
    } else if (line.starts_with("args ")) {
      std::istringstream words(line.substr(5));
      out.words.assign(std::istream_iterator<std::string>(words), {});
    } else {
      out.text += line + '\n';
    }
  }
  return out;
}

std::vector<Case> cases(const std::filesystem::path& in) {
  std::vector<Case> out;
  for (const auto& entry : std::filesystem::directory_iterator(in)) {
    if (entry.path().extension() == ".expected") out.push_back(read_case(entry.path()));
  }
  std::sort(out.begin(), out.end(), [](const Case& a, const Case& b) { return a.name < b.name; });
  return out;
}

std::vector<Case> all_cases() {
  std::vector<Case> out = cases(folder());
  for (Case& one : cases(folder() / "arguments")) out.push_back(std::move(one));
  return out;
}

std::string name_of(const ::testing::TestParamInfo<Case>& one) { return one.param.name; }
void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

// The text that an error event stands for.
std::string text_of(const nlohmann::json& event) {
  std::string out = "error: ";
  if (event["file"].is_string()) {
    out += event["file"].get<std::string>();
    for (const char* number : {"line", "column"}) {
      if (event[number].is_number()) out += ':' + std::to_string(event[number].get<int64_t>());
    }
    out += ": ";
  }
  out += event["message"].get<std::string>() + '\n';
  if (event["hint"].is_string()) out += "hint: " + event["hint"].get<std::string>() + '\n';
  return out;
}

class ErrorEventsTest : public ::testing::TestWithParam<Case> {};

TEST_P(ErrorEventsTest, SayTheSameAsTheText) {
  const Case& expected = GetParam();
  std::vector<std::string> words = expected.words;
  words.emplace_back("--json");
  const auto result = testing::run_trainer(words, {.folder = expected.folder.string()});
  EXPECT_EQ(result.exit_code, expected.exit_code);
  ASSERT_TRUE(result.out.ends_with('\n')) << result.out;
  nlohmann::json last;
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);) {
    last = nlohmann::json::parse(line);
    EXPECT_EQ(last["v"], 1) << line;
  }
  const std::map<int, std::string> kinds = {{2, "usage"}, {65, "data"}, {66, "missing"}, {74, "io"}, {78, "config"}};
  EXPECT_EQ(last["event"], "error");
  EXPECT_EQ(last["kind"], kinds.at(expected.exit_code));
  const size_t begin = result.err.rfind("error: ");
  ASSERT_NE(begin, std::string::npos);
  EXPECT_TRUE(expected.text.ends_with(result.err.substr(begin))) << result.err;
  // Control characters are escaped for people; a program gets them as they are.
  if (expected.name != "control_characters") {
    EXPECT_EQ(text_of(last), result.err.substr(begin));
  }
}

INSTANTIATE_TEST_SUITE_P(Errors, ErrorEventsTest, ::testing::ValuesIn(all_cases()), name_of);

class ArgumentErrorsTest : public ::testing::TestWithParam<Case> {};

TEST_P(ArgumentErrorsTest, AreAsExpected) {
  const Case& expected = GetParam();
  const auto result = testing::run_trainer(expected.words, {.folder = expected.folder.string()});
  EXPECT_EQ(result.exit_code, expected.exit_code);
  EXPECT_EQ(result.err, expected.text);
  EXPECT_EQ(result.out, "");
}

INSTANTIATE_TEST_SUITE_P(Errors, ArgumentErrorsTest, ::testing::ValuesIn(cases(folder() / "arguments")), name_of);

TEST(ErrorFolder, EveryConfigurationHasItsText) {
  for (const auto& entry : std::filesystem::directory_iterator(folder())) {
    if (entry.path().extension() != ".yaml") continue;
    EXPECT_TRUE(std::filesystem::exists(std::filesystem::path(entry.path()).replace_extension(".expected")))
        << entry.path();
  }
}

}  // namespace
}  // namespace millrace::cli
