#include "millrace/trainer/cli/help.h"

#include <gtest/gtest.h>

#include "millrace/trainer/cli/arguments.h"

namespace millrace::cli {
namespace {

std::string help_of(std::vector<std::string> words) {
  words.emplace_back("--help");
  return parse_arguments(words).text;
}

TEST(HelpTest, SubcommandHelpAsAWhole) {
  EXPECT_EQ(help_of({"ops"}),
            "Lists the input ops, with every option, type and default.\n"
            "\n"
            "USAGE:\n"
            "  trainer ops [NAME]\n"
            "\n"
            "ARGUMENTS:\n"
            "  NAME                      only this op\n"
            "\n"
            "OPTIONS:\n"
            "  -h, --help                print this help\n"
            "\n"
            "EXAMPLES:\n"
            "  trainer ops\n"
            "  trainer ops shuffle_batch\n");
}

TEST(HelpTest, ProgramHelpListsWhatThereIs) {
  const std::string help = help_of({});
  for (const char* part : {"SUBCOMMANDS:\n  train ", "\n  check  ", "\n  input  ", "\n  evaluate  ", "\n  predict  ",
                           "\n  generate  ", "\n  ops  ", "\n  layers  ", "\n      --config FILE",
                           "\n      --set PATH=VALUE", "\n  -q, --quiet", "\n  -V, --version", "EXAMPLES:\n"}) {
    EXPECT_NE(help.find(part), std::string::npos) << part << "\nis not in\n" << help;
  }
}

TEST(HelpTest, EveryHelpEndsWithExamplesAndFitsATerminal) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{},
                                                {"train"},
                                                {"check"},
                                                {"input"},
                                                {"evaluate"},
                                                {"predict"},
                                                {"generate"},
                                                {"generate", "sum"},
                                                {"ops"},
                                                {"layers"}}) {
    const std::string help = help_of(words);
    EXPECT_NE(help.find("\nEXAMPLES:\n  trainer "), std::string::npos) << help;
    EXPECT_EQ(help.back(), '\n');
    EXPECT_EQ(help.find("\n\n\n"), std::string::npos) << help;
    for (size_t begin = 0; begin < help.size();) {
      const size_t end = help.find('\n', begin);
      EXPECT_LE(end - begin, 120u) << help.substr(begin, end - begin);
      begin = end + 1;
    }
  }
}

TEST(HelpTest, UnknownNameIsTheProgram) { EXPECT_EQ(&help_text("nothing"), &help_text("")); }

TEST(HelpTest, ShortHelpPointsToTheLongOne) { EXPECT_TRUE(short_help().ends_with("trainer --help says more\n")); }

}  // namespace
}  // namespace millrace::cli
