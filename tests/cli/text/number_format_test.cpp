#include "millrace/cli/text/number_format.h"

#include <gtest/gtest.h>

#include <limits>

namespace millrace::cli {
namespace {

TEST(NumberFormatTest, ValuesHaveFourSignificantDigits) {
  EXPECT_EQ(format_value(0.693147), "0.6931");
  EXPECT_EQ(format_value(0.57), "0.57");
  EXPECT_EQ(format_value(1), "1");
  EXPECT_EQ(format_value(0.0000123456), "1.235e-05");
  EXPECT_EQ(format_value(std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(format_value(-std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(format_value(std::numeric_limits<double>::infinity()), "inf");
}

TEST(NumberFormatTest, RatesAreWholeFromAHundredOn) {
  EXPECT_EQ(format_rate(12345.4), "12345");
  EXPECT_EQ(format_rate(3.2512), "3.25");
  EXPECT_EQ(format_rate(99.9), "99.9");
  EXPECT_EQ(format_rate(99.96), "100");
  EXPECT_EQ(format_rate(0), "0");
  EXPECT_EQ(format_rate(12345678), "12345678");
}

TEST(NumberFormatTest, MillisecondsAreThoseOfSeconds) {
  EXPECT_EQ(format_milliseconds(0.0123456), "12.3");
  EXPECT_EQ(format_milliseconds(1.5), "1500");
}

TEST(NumberFormatTest, SharesArePercent) {
  EXPECT_EQ(format_share(0), "0%");
  EXPECT_EQ(format_share(0.001), "<1%");
  EXPECT_EQ(format_share(0.0299), "3%");
  EXPECT_EQ(format_share(1), "100%");
}

TEST(NumberFormatTest, SecondsGrowIntoMinutesAndHours) {
  EXPECT_EQ(format_seconds(0), "0.000 s");
  EXPECT_EQ(format_seconds(0.0421), "0.042 s");
  EXPECT_EQ(format_seconds(0.9996), "1.0 s");
  EXPECT_EQ(format_seconds(3.14), "3.1 s");
  EXPECT_EQ(format_seconds(9.96), "10 s");
  EXPECT_EQ(format_seconds(42.4), "42 s");
  EXPECT_EQ(format_seconds(59.6), "1 min 00 s");
  EXPECT_EQ(format_seconds(125), "2 min 05 s");
  EXPECT_EQ(format_seconds(3600 * 3 + 60 * 7 + 12), "3 h 07 min");
  EXPECT_EQ(format_seconds(-1), "?");
  EXPECT_EQ(format_seconds(std::numeric_limits<double>::infinity()), "?");
}

TEST(NumberFormatTest, BytesHaveBinaryUnits) {
  EXPECT_EQ(format_bytes(0), "0 bytes");
  EXPECT_EQ(format_bytes(1), "1 byte");
  EXPECT_EQ(format_bytes(1023), "1023 bytes");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(64u << 20), "64 MiB");
  EXPECT_EQ(format_bytes((1u << 20) - 1), "1.0 MiB");
  EXPECT_EQ(format_bytes(UINT64_MAX), "16 EiB");
}

TEST(NumberFormatTest, TheShortestTextReadsBackTheSame) {
  char buffer[40];
  EXPECT_EQ(shortest_text(0.1F, buffer), "0.1");
  EXPECT_EQ(shortest_text(0.1, buffer), "0.1");
  EXPECT_EQ(shortest_text(16777217.0, buffer), "16777217");
  EXPECT_EQ(shortest_text(-std::numeric_limits<float>::quiet_NaN(), buffer), "nan");
  EXPECT_EQ(shortest_text(-std::numeric_limits<double>::infinity(), buffer), "-inf");
  EXPECT_EQ(shortest_text(int64_t{-7}, buffer), "-7");
}

}  // namespace
}  // namespace millrace::cli
