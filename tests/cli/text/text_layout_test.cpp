#include "millrace/cli/text/text_layout.h"

#include <gtest/gtest.h>

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

TEST(TextLayoutTest, EveryByteIsReplaced) {
  EXPECT_EQ(replaced("|a||b", '|', "\\|"), "\\|a\\|\\|b");
  EXPECT_EQ(replaced("a", '|', "\\|"), "a");
}

TEST(TextLayoutTest, AWordThatIsTooLongStandsAlone) {
  const std::string word(150, 'x');
  EXPECT_EQ(wrapped("a " + word + " b", 0, 0), "a\n" + word + "\nb");
}

}  // namespace
}  // namespace millrace::cli
