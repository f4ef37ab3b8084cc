#include "millrace/core/wildcard.h"

#include <gtest/gtest.h>

#include <string>

#include "millrace/core/text.h"

namespace millrace {
namespace {

TEST(Wildcard, APatternWithoutOneIsTheNameItself) {
  EXPECT_TRUE(wildcard_matches("dense.bias", "dense.bias"));
  EXPECT_FALSE(wildcard_matches("dense.bias", "dense.bia"));
  EXPECT_FALSE(wildcard_matches("dense.bias", "dense.bias2"));
  EXPECT_FALSE(wildcard_matches("bias", "dense.bias"));
  EXPECT_TRUE(wildcard_matches("", ""));
  EXPECT_FALSE(wildcard_matches("", "a"));
}

TEST(Wildcard, AStarIsAnyBytes) {
  EXPECT_TRUE(wildcard_matches("*.bias", "dense_2.bias"));
  EXPECT_TRUE(wildcard_matches("*.bias", ".bias"));
  EXPECT_TRUE(wildcard_matches("*.bias", "a.b.bias"));
  EXPECT_FALSE(wildcard_matches("*.bias", "dense.bias.weight"));
  EXPECT_FALSE(wildcard_matches("*.bias", "bias"));
  EXPECT_TRUE(wildcard_matches("dense*", "dense"));
  EXPECT_TRUE(wildcard_matches("*", ""));
  EXPECT_TRUE(wildcard_matches("**", "dense.weight"));
  EXPECT_TRUE(wildcard_matches("a*b*c", "aXbXbYc"));
  EXPECT_FALSE(wildcard_matches("a*b*c", "aXcXb"));
}

TEST(Wildcard, AStarTriesAgainBehindAFalseStart) {
  EXPECT_TRUE(wildcard_matches("*ab", "aab"));
  EXPECT_TRUE(wildcard_matches("*aab", "aaaab"));
  EXPECT_FALSE(wildcard_matches("*aab", "aabaa"));
}

TEST(Wildcard, AQuestionMarkIsOneByte) {
  EXPECT_TRUE(wildcard_matches("dense_?.bias", "dense_2.bias"));
  EXPECT_FALSE(wildcard_matches("dense_?.bias", "dense_12.bias"));
  EXPECT_FALSE(wildcard_matches("dense?", "dense"));
  EXPECT_TRUE(wildcard_matches("?*", "a"));
  EXPECT_FALSE(wildcard_matches("?*", ""));
}

// A name full of false starts takes time with the product of the lengths, not with a power of them.
TEST(Wildcard, ManyStarsEnd) {
  std::string pattern;
  for (int i = 0; i < 30; ++i) pattern += "*a";
  EXPECT_FALSE(wildcard_matches(pattern + "b", std::string(2000, 'a')));
}

}  // namespace
}  // namespace millrace
