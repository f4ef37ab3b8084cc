#include "millrace/cli/arguments/argument_words.h"

#include "tests/support/temp_folder.h"

namespace millrace::cli {
namespace {

using Words = std::vector<std::string>;

const CommandInfo kProgram{"",
                           {{{"-q", "--quiet"}, "", "", "", ""}, {{}, "FILE", "", "", ""}},
                           {{"input", {{{"--out"}, "FILE", "", "", ""}}, {}}}};

Words split(const Words& words) { return split_values(words, kProgram).words; }

TEST(ArgumentWordsTest, ValuesStandApart) {
  EXPECT_EQ(split({"input", "--out=a=b", "c"}), (Words{"input", "--out", "a=b", "c"}));
  EXPECT_EQ(split({"input", "--out=", "--quiet"}), (Words{"input", "--out", "", "--quiet"}));
  EXPECT_EQ(split({"--out", "--out=x", "--out=y"}), (Words{"--out", "--out=x", "--out", "y"}))
      << "the first is a value";
  EXPECT_EQ(split({"--out"}), Words{"--out"});
  EXPECT_EQ(split({"--other=x", "a=b", "-q"}), (Words{"--other=x", "a=b", "-q"}));
  EXPECT_EQ(split({"--", "--out=x"}), (Words{"--", "--out=x"})) << "no option any more";
  EXPECT_EQ(split({}), Words());
}

TEST(ArgumentWordsTest, FlagsHaveNoValue) {
  const SplitWords words = split_values(Words{"--quiet=no", "--quiet=", "x"}, kProgram);
  EXPECT_EQ(words.words, (Words{"--quiet", "--quiet", "x"}));
  EXPECT_EQ(words.misuse, "--quiet takes no value, got \"no\"");
  EXPECT_EQ(split_values(Words{"--quiet", "--out=x"}, kProgram).misuse, "");
}

TEST(ArgumentWordsTest, WholeNumbersAreInTheirRange) {
  EXPECT_EQ(whole_number("--n", "7", {.least = 7, .most = 7}), 7);
  EXPECT_EQ(whole_number("--n", "9223372036854775807", {}), std::numeric_limits<int64_t>::max());
  for (const char* text : {"6", "8", "x", "7x", "7.0", " 7", "99999999999999999999", ""}) {
    EXPECT_EQ(error_of<UsageError>([&] { (void)whole_number("--n", text, {.least = 7, .most = 7}); }),
              std::string("--n: expected a whole number from 7 to 7, got \"") + text + '"');
  }
  EXPECT_EQ(error_of<UsageError>([] { (void)whole_number("--n", "-1", {}); }),
            "--n: expected a whole number from 0, got \"-1\"");
}

TEST(ArgumentWordsTest, FindsCommands) {
  EXPECT_EQ(&find_command(Words{}, kProgram), &kProgram);
  EXPECT_EQ(&find_command(Words{"input", "--help"}, kProgram), &kProgram.commands[0]);
  EXPECT_EQ(error_of<UsageError>([] { (void)find_command(Words{"inptu"}, kProgram); }),
            "unknown subcommand \"inptu\"; did you mean input?");
  EXPECT_EQ(error_of<UsageError>([] { (void)find_command(Words{"x"}, kProgram); }),
            "unknown subcommand \"x\"; known: input");
  EXPECT_EQ(error_of<UsageError>([] {
              (void)find_command(Words{"input", "x"}, kProgram);
            }),
            "unexpected argument \"x\"");
}

TEST(ArgumentWordsTest, SettingsHaveAPath) {
  EXPECT_NO_THROW(check_settings(Words{"a=", "a=b=c"}));
  EXPECT_EQ(error_of<UsageError>([] {
              check_settings(Words{"a=1", "b"});
            }),
            "--set \"b\": expected PATH=VALUE; for example --set train.steps=5");
}

}  // namespace
}  // namespace millrace::cli
