#include "millrace/core/text.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <limits>
#include <string>

namespace millrace {
namespace {

TEST(Cat, JoinsTextsAndNumbers) {
  EXPECT_EQ(cat("a", 1, 'b', std::string("c"), -2, true, false), "a1bc-2truefalse");
  EXPECT_EQ(cat(), "");
  EXPECT_EQ(cat(std::numeric_limits<int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(cat(std::numeric_limits<uint64_t>::max()), "18446744073709551615");
}

TEST(Cat, WritesNumbersInTheirShortestForm) {
  EXPECT_EQ(cat(0.1), "0.1");
  EXPECT_EQ(cat(0.1f), "0.1");
  EXPECT_EQ(cat(1e300), "1e+300");
  EXPECT_EQ(cat(-2.2250738585072014e-308), "-2.2250738585072014e-308");
  EXPECT_EQ(cat(3.0), "3");
}

TEST(Rounded, KeepsSoManyDigits) {
  EXPECT_EQ(rounded(1.0 / 3, 3), 0.333);
  EXPECT_EQ(rounded(-123456.0, 2), -120000.0);
  EXPECT_EQ(rounded(0.1, 17), 0.1);
}

TEST(Quote, EscapesWhatATerminalWouldObey) {
  EXPECT_EQ(quote("abc"), "\"abc\"");
  EXPECT_EQ(quote(""), "\"\"");
  EXPECT_EQ(quote("a\"b\\c"), "\"a\\\"b\\\\c\"");
  EXPECT_EQ(quote("\n\r\t"), "\"\\n\\r\\t\"");
  EXPECT_EQ(quote(std::string("\x1b[2J\0\x7f", 6)), "\"\\x1b[2J\\x00\\x7f\"");
  EXPECT_EQ(quote("caf\xc3\xa9"), "\"caf\xc3\xa9\"");
}

TEST(Quote, CutsLongTexts) {
  EXPECT_EQ(quote("abcdef", 6), "\"abcdef\"");
  EXPECT_EQ(quote("abcdef", 5), "\"abcde...\"");
  EXPECT_EQ(quote(std::string(100, 'x')), "\"" + std::string(60, 'x') + "...\"");
}

TEST(Shortened, IsTheTextOrItsBeginning) {
  EXPECT_EQ(shortened("abcdef", 6), "abcdef");
  EXPECT_EQ(shortened("abcdef", 5), "abcde...");
  EXPECT_EQ(shortened("ab\xc3\xa9z", 3), "ab...");
}

TEST(Quote, NeverCutsACharacterInTwo) {
  EXPECT_EQ(quote("ab\xc3\xa9z", 3), "\"ab...\"");
  EXPECT_EQ(quote("ab\xc3\xa9z", 4), "\"ab\xc3\xa9...\"");
  EXPECT_EQ(quote("\x80\x80\x80\x80\x80\x80", 5), "\"\x80\x80\x80\x80\x80...\"");
}

TEST(Join, PutsTheJointLast) {
  EXPECT_EQ(join({}), "");
  EXPECT_EQ(join({"a"}), "a");
  EXPECT_EQ(join({"a", "b"}), "a and b");
  EXPECT_EQ(join({"a", "b", "c"}, " or "), "a, b or c");
}

TEST(Nearest, FindsTheTargetOfATypo) {
  EXPECT_EQ(nearest("batchsize", {"capacity", "batch_size", "threads"}), "batch_size");
  EXPECT_EQ(nearest("thraeds", {"capacity", "batch_size", "threads"}), "threads");
  EXPECT_EQ(nearest("relu", {"elu", "relu"}), "relu");
}

TEST(Nearest, TakesAnAbbreviationBeforeATypo) {
  EXPECT_EQ(nearest("acc", {"auc", "accuracy", "accuracies"}), "accuracy");
  EXPECT_EQ(nearest("re", {"regulariser"}), "") << "two letters begin too much";
}

TEST(Nearest, DoesNotMindTheCase) {
  EXPECT_EQ(nearest("ReLU", {"elu", "relu", "rel"}), "relu");
  EXPECT_EQ(nearest("CSV_READER", {"csv_reader"}), "csv_reader");
}

TEST(Nearest, TheSameWordGoesBeforeLongerOnes) {
  EXPECT_EQ(nearest("Adam", {"adamw", "adam"}), "adam");
  EXPECT_EQ(nearest("adam", {"adamw", "adam"}), "adam");
}

TEST(Nearest, ShortWordsHaveOneSlipAtMost) {
  EXPECT_EQ(nearest("bce", {"mae", "mse"}), "");
  EXPECT_EQ(nearest("mea", {"mse", "mae"}), "mae") << "two letters that changed places are one slip";
  EXPECT_EQ(nearest("sigm", {"sign"}), "sign");
  EXPECT_EQ(nearest("rleus", {"relu"}), "relu") << "five letters may have two";
}

TEST(Nearest, FallsBackOnCommonParts) {
  EXPECT_EQ(nearest("--output", {"--force", "--out", "--files"}), "--out");
  EXPECT_EQ(nearest("features_of_rows", {"feature", "features", "rows"}), "features");
  EXPECT_EQ(nearest("rows_and_more", {"rows"}), "") << "four letters begin too much";
  EXPECT_EQ(nearest("cross_entropy", {"l2", "a_sigmoid_cross_entropy", "softmax_cross_entropy"}),
            "softmax_cross_entropy");
  EXPECT_EQ(nearest("rate", {"learning_rate"}), "") << "four letters are part of too much";
}

TEST(Nearest, IsSilentWhenNothingIsNear) {
  EXPECT_EQ(nearest("learning_rate", {"units", "name"}), "");
  EXPECT_EQ(nearest("x", {"y"}), "");
  EXPECT_EQ(nearest("units", {}), "");
  EXPECT_EQ(nearest(std::string(10000, 'a'), {"aaaa"}), "");
  EXPECT_EQ(nearest("units", {std::string(size_t{1} << 24, 'u')}), "");  // a table of their distance has gigabytes
  EXPECT_EQ(nearest("units", {"units" + std::string(252, 'u')}), "") << "nobody would read it";
}

TEST(Nearest, TakesTheFirstOfEquallyNear) { EXPECT_EQ(nearest("abcx", {"abcd", "abce"}), "abcd"); }

TEST(IsName, TakesWhatConfigurationsMayGive) {
  for (const char* name : {"a", "_", "conv-2", "A_b9"}) EXPECT_TRUE(is_name(name)) << name;
  for (const char* name : {"", "-a", "9", "a b", "a.b", "\xc3\xa4"}) EXPECT_FALSE(is_name(name)) << name;
}

TEST(CountOf, AgreesWithTheNumber) {
  EXPECT_EQ(count_of(0, "row"), "0 rows");
  EXPECT_EQ(count_of(1, "row"), "1 row");
  EXPECT_EQ(count_of(2, "row"), "2 rows");
}

TEST(ErrnoText, NamesTheReason) {
  EXPECT_EQ(errno_text(ENOENT), "No such file or directory");
  EXPECT_EQ(errno_text(123456), "error 123456");
}

}  // namespace
}  // namespace millrace
