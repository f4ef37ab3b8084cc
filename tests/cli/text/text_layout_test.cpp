#include "millrace/cli/text/text_layout.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace millrace::cli {
namespace {

TEST(TextLayoutTest, LinesEndBetweenWords) {
  const std::string word(30, 'x');
  EXPECT_EQ(wrapped(word + ' ' + word + ' ' + word + ' ' + word, 4, 0),
            word + ' ' + word + ' ' + word + "\n    " + word);
  EXPECT_EQ(wrapped(word + ' ' + word, 2, 60), word + "\n  " + word);
  EXPECT_EQ(wrapped("a  b", 0, 0), "a b");
  EXPECT_EQ(wrapped("", 2, 0), "");
}

TEST(TextLayoutTest, ALineMayBeFull) {
  const std::string half(49, 'x'), more(50, 'y');
  EXPECT_EQ(wrapped(half + ' ' + more, 0, 0), half + ' ' + more);
  EXPECT_EQ(wrapped(half + ' ' + more, 0, 1), half + '\n' + more);
}

TEST(TextLayoutTest, ColumnsAreCharacters) {
  std::string umlauts;
  for (int i = 0; i < 98; ++i) umlauts += "\xc3\xa4";
  EXPECT_EQ(wrapped(umlauts + " b", 0, 0), umlauts + " b");
}

TEST(TextLayoutTest, FoldsBetweenWords) {
  EXPECT_EQ(folded("one two three\nfour\n", 8), "one two\n  three\nfour\n");
  EXPECT_EQ(folded("last batch: 21 rows  loss 0.25", 20), "last batch: 21 rows\n  loss 0.25");
  EXPECT_EQ(folded("a  b", 4), "a  b") << "what fits stays as it is";
  EXPECT_EQ(folded("weights: 0123456789", 12), "weights:\n  0123456789") << "a line may be full";
  EXPECT_EQ(folded("weights: 0123456789abc end", 12), "weights:\n0123456789abc\n  end") << "a word stays whole";
  EXPECT_EQ(folded("  x 0123456789\n", 6), "  x\n0123456789\n");
  EXPECT_EQ(folded("0123456789   \n", 6), "0123456789   \n");
  EXPECT_EQ(folded("", 8), "");
  EXPECT_EQ(folded("\n\n", 8), "\n\n");
  EXPECT_EQ(folded("\xc3\xa4\xc3\xa4 b", 4), "\xc3\xa4\xc3\xa4 b");
}

TEST(TextLayoutTest, TakesWholePartsThatFit) {
  const std::vector<std::string> parts = {"34%", "9 s left", "loss 1", "x"};
  EXPECT_EQ(fitting_parts(parts, 100), "34%  9 s left  loss 1  x");
  EXPECT_EQ(fitting_parts(parts, 21), "34%  9 s left  loss 1");
  EXPECT_EQ(fitting_parts(parts, 20), "34%  9 s left") << "what is left out is left out from the end";
  EXPECT_EQ(fitting_parts(parts, 2), "");
}

TEST(TextLayoutTest, TakesWholeWordsThatFit) {
  EXPECT_EQ(fitting_words("round 1 of 3: step", 100), "round 1 of 3: step");
  EXPECT_EQ(fitting_words("round 1 of 3: step", 14), "round 1 of 3:");
  EXPECT_EQ(fitting_words("round 1 of 3: step", 13), "round 1 of 3:");
  EXPECT_EQ(fitting_words("round 1", 4), "");
}

TEST(TextLayoutTest, EveryByteIsReplaced) {
  EXPECT_EQ(replaced("|a||b", '|', "\\|"), "\\|a\\|\\|b");
  EXPECT_EQ(replaced("a", '|', "\\|"), "a");
}

TEST(TextLayoutTest, NamesTheFirstOfMany) {
  EXPECT_EQ(join_first({"a", "b", "c"}, 3), "a, b and c");
  EXPECT_EQ(join_first({"a", "b", "c", "d"}, 2), "a, b and 2 more");
  EXPECT_EQ(join_first({}, 2), "");
}

TEST(TextLayoutTest, AWordThatIsTooLongStandsAlone) {
  const std::string word(150, 'x');
  EXPECT_EQ(wrapped("a " + word + " b", 0, 0), "a\n" + word + "\nb");
}

}  // namespace
}  // namespace millrace::cli
