#include "millrace/trainer/cli/argument_words.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace millrace::cli
