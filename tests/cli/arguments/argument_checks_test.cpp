#include "millrace/cli/arguments/argument_checks.h"

#include <gtest/gtest.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <string>
#include <vector>

namespace millrace::cli {
namespace {

class ArgumentChecks : public ::testing::Test {
 protected:
  ArgumentChecks() {
    app_.allow_extras();
    app_.add_option("--config", config_)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    app_.add_option("--set", settings_)->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    sub_.allow_extras();
    sub_.add_option("--out", out_)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }

  // What `check` says of `app` after `words`; empty: nothing.
  template <class Check>
  std::string said(const std::vector<std::string>& words, const CLI::App& app, const Check& check) {
    app_.parse(std::vector<std::string>(words.rbegin(), words.rend()));
    try {
      check(app);
    } catch (const UsageError& error) {
      return error.hint().empty() ? error.message() : error.message() + " | " + error.hint();
    }
    return {};
  }

  CLI::App app_{"", "trainer"};
  CLI::App& sub_ = *app_.add_subcommand("input");
  std::string config_, out_;
  std::vector<std::string> settings_;
};

TEST_F(ArgumentChecks, KnowsTheWordsThatFit) {
  EXPECT_EQ(known_words(app_, true), (std::vector<std::string>{"--help", "--config", "--set"}));
  EXPECT_EQ(known_words(app_, false), std::vector<std::string>{"input"});
}

TEST_F(ArgumentChecks, AnEmptyValueIsNoWish) {
  EXPECT_EQ(said({"--config", "a.yaml"}, app_, check_values), "");
  EXPECT_EQ(said({"--config", ""}, app_, check_values), "--config needs a value");
  EXPECT_EQ(said({"input", "--out", ""}, app_, check_values), "--out needs a value");
}

TEST_F(ArgumentChecks, ABuildMayLeaveACommandOut) {
  const auto check = [](const CLI::App& app) { check_build(app, {"input"}); };
  EXPECT_EQ(said({}, app_, check), "");
  EXPECT_EQ(said({"input"}, sub_, check),
            "subcommand \"input\" is not in this build (MILLRACE_WITHOUT=input) | "
            "take input out of MILLRACE_WITHOUT and build again");
}

TEST_F(ArgumentChecks, WordsThatNothingTook) {
  EXPECT_EQ(said({"--confg", "input"}, app_, check_words), "unknown option --confg | did you mean --config?");
  EXPECT_EQ(said({"inptu"}, app_, check_words), "unexpected argument \"inptu\" | did you mean input?");
  EXPECT_EQ(said({"input", "more"}, app_, check_words), "unexpected argument \"more\"");
  EXPECT_EQ(said({"--", "--config"}, app_, check_words), "unexpected argument \"--config\"")
      << "behind -- nothing is an option";
}

TEST_F(ArgumentChecks, OptionsGivenTwice) {
  EXPECT_EQ(said({"--config", "a", "--config", "b"}, app_, check_words), "--config is given twice");
  EXPECT_EQ(said({"--set", "a=1", "--set", "b=2"}, app_, check_words), "");
}

TEST_F(ArgumentChecks, OptionsBeforeTheirSubcommand) {
  EXPECT_EQ(said({"input", "--out", "x"}, sub_, check_order), "");
  EXPECT_EQ(said({"--config", "a", "input"}, sub_, check_order),
            "--config stands before input, where it means nothing | put it behind: trainer input --config ...");
}

TEST_F(ArgumentChecks, AMissingValueInOurWords) {
  std::string said;
  try {
    app_.parse(std::vector<std::string>{"--config"});
  } catch (const CLI::ParseError& error) {
    said = translated(error).message();
  }
  EXPECT_EQ(said, "--config needs a value");
}

}  // namespace
}  // namespace millrace::cli
