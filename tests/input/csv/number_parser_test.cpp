#include "millrace/input/csv/number_parser.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "millrace/core/text.h"
#include "millrace/input/csv/kernels/kernels.h"

namespace millrace {
namespace {

template <class T>
std::string parse(std::string_view text) {
  T value{};
  switch (parse_number(text, value)) {
    case NumberStatus::ok: return cat(value);
    case NumberStatus::malformed: return "malformed";
    case NumberStatus::out_of_range: return "out of range";
  }
  return {};
}

TEST(ParseNumber, ReadsFloats) {
  EXPECT_EQ(parse<float>("1"), "1");
  EXPECT_EQ(parse<float>("-1.5"), "-1.5");
  EXPECT_EQ(parse<float>("+5"), "5");
  EXPECT_EQ(parse<float>(" \t 2.5\t "), "2.5");
  EXPECT_EQ(parse<float>(".5"), "0.5");
  EXPECT_EQ(parse<float>("5."), "5");
  EXPECT_EQ(parse<float>("1e3"), "1000");
  EXPECT_EQ(parse<float>("1E-2"), "0.01");
  EXPECT_EQ(parse<float>("+1.25e+2"), "125");
  EXPECT_EQ(parse<float>("-0"), "-0");
  EXPECT_EQ(parse<float>("0.10000000149011612"), "0.1");
  EXPECT_EQ(parse<double>("0.1"), "0.1");
  EXPECT_EQ(parse<double>("123456789012345678901234567890"), "1.2345678901234568e+29");
}

TEST(ParseNumber, ReadsWhatIsNoFiniteNumber) {
  for (const char* text : {"inf", "INF", "Infinity", "+inf", "iNfInItY"}) EXPECT_EQ(parse<float>(text), "inf") << text;
  for (const char* text : {"-inf", "-Infinity"}) EXPECT_EQ(parse<double>(text), "-inf") << text;
  for (const char* text : {"nan", "NaN", "NAN", "+nan"}) EXPECT_EQ(parse<float>(text), "nan") << text;
}

TEST(ParseNumber, OverflowsAndUnderflowsAsStrtof) {
  EXPECT_EQ(parse<float>("1e39"), "inf");
  EXPECT_EQ(parse<float>("-1e39"), "-inf");
  EXPECT_EQ(parse<float>("1e99999999999999999999"), "inf");
  EXPECT_EQ(parse<double>("1e39"), "1e+39");
  EXPECT_EQ(parse<double>("1e999"), "inf");
  EXPECT_EQ(parse<float>("1e-45"), "1e-45");
  EXPECT_EQ(parse<float>("1e-46"), "0");
  EXPECT_EQ(parse<float>("-1e-99"), "-0");
  EXPECT_EQ(parse<double>("4.9e-324"), "5e-324");
}

TEST(ParseNumber, RefusesWhatIsLeftOver) {
  for (const char* text :
       {"",  " ", "abc",  "1x",  "1 2",    "0x10",  "1,5", "1e",    "e5",  "+-5", "++5",   "-+5",   "- 5",  ".",
        "+", "-", "1..2", "1_0", "nan(1)", "infin", "1e+", "nan()", "1\r", "1\n", "inf x", "0x1p3", "1e5.5"}) {
    EXPECT_EQ(parse<float>(text), "malformed") << text;
    EXPECT_EQ(parse<double>(text), "malformed") << text;
  }
  EXPECT_EQ(parse<float>(std::string_view("1\0", 2)), "malformed");
}

TEST(ParseNumber, ReadsIntegers) {
  EXPECT_EQ(parse<int32_t>("0"), "0");
  EXPECT_EQ(parse<int32_t>(" +12\t"), "12");
  EXPECT_EQ(parse<int32_t>("-0007"), "-7");
  EXPECT_EQ(parse<int32_t>("2147483647"), "2147483647");
  EXPECT_EQ(parse<int32_t>("-2147483648"), "-2147483648");
  EXPECT_EQ(parse<int64_t>("9223372036854775807"), "9223372036854775807");
  EXPECT_EQ(parse<int64_t>("-9223372036854775808"), "-9223372036854775808");
  EXPECT_EQ(parse<int32_t>("2147483648"), "out of range");
  EXPECT_EQ(parse<int32_t>("-2147483649"), "out of range");
  EXPECT_EQ(parse<int32_t>("99999999999999999999999"), "out of range");
  EXPECT_EQ(parse<int64_t>("9223372036854775808"), "out of range");
  EXPECT_EQ(parse<int64_t>("-9223372036854775809"), "out of range");
  for (const char* text : {"", " ", "1.0", "1e3", "x", "+", "-", "--1", "+-1", "0x1", "1 1", "99999999999999999999x"}) {
    EXPECT_EQ(parse<int32_t>(text), "malformed") << text;
    EXPECT_EQ(parse<int64_t>(text), "malformed") << text;
  }
}

TEST(ParseNumber, ReadsBytes) {
  EXPECT_EQ(parse<uint8_t>("0"), "0");
  EXPECT_EQ(parse<uint8_t>(" +007\t"), "7");
  EXPECT_EQ(parse<uint8_t>("-0"), "0");
  EXPECT_EQ(parse<uint8_t>("255"), "255");
  for (const char* text : {"256", "-1", "511", "4294967295", "4294967296", "99999999999999999999"}) {
    EXPECT_EQ(parse<uint8_t>(text), "out of range") << text;
  }
  for (const char* text : {"", "1.0", "x", "-"}) EXPECT_EQ(parse<uint8_t>(text), "malformed") << text;
}

template <class T>
std::vector<std::string> random_numbers(std::mt19937_64& random, int count) {
  static constexpr const char* kFormats[] = {"%.9g", "%.17g", "%.6f", "%.18e", "%.3g", "%.25g", "%.0f"};
  std::vector<std::string> out;
  while (static_cast<int>(out.size()) < count) {
    T value;
    if constexpr (sizeof(T) == 4) {
      value = std::bit_cast<float>(static_cast<uint32_t>(random()));
    } else {
      value = std::bit_cast<double>(random());
    }
    if (random() % 2 == 0) value = static_cast<T>(static_cast<double>(random() % 2000000) / 1e5 - 10);
    if (!std::isfinite(value)) continue;
    char buffer[512];
    std::snprintf(buffer, sizeof buffer, kFormats[random() % 7], static_cast<double>(value));
    out.emplace_back(buffer);
  }
  return out;
}

TEST(ParseNumber, RoundsAsStrtofAndStrtod) {
  std::mt19937_64 random(3);
  for (const std::string& text : random_numbers<float>(random, 20000)) {
    float value = 0;
    ASSERT_EQ(parse_number(text, value), NumberStatus::ok) << text;
    ASSERT_EQ(std::bit_cast<uint32_t>(value), std::bit_cast<uint32_t>(std::strtof(text.c_str(), nullptr))) << text;
  }
  for (const std::string& text : random_numbers<double>(random, 20000)) {
    double value = 0;
    ASSERT_EQ(parse_number(text, value), NumberStatus::ok) << text;
    ASSERT_EQ(std::bit_cast<uint64_t>(value), std::bit_cast<uint64_t>(std::strtod(text.c_str(), nullptr))) << text;
  }
}

TEST(ParseRun, GivesTheSameAsOneByOneAndStopsAtWhatIsNoNumber) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 500; ++round) {
    std::vector<std::string> fields = random_numbers<float>(random, static_cast<int>(random() % 20));
    const size_t bad = random() % 25;
    if (bad < fields.size()) fields[bad] = random() % 2 == 0 ? "" : "x";
    std::string text = "skipped,";
    const size_t begin = text.size();
    std::vector<uint32_t> ends;
    for (const std::string& field : fields) {
      text += field;
      ends.push_back(static_cast<uint32_t>(text.size()));
      text += ',';
    }
    std::vector<float> values(fields.size() + 1);
    const size_t done = parse_run({text.data(), begin, ends.data(), fields.size()}, values.data());
    ASSERT_EQ(done, std::min(bad, fields.size()));
    for (size_t i = 0; i < done; ++i) {
      float alone = 0;
      ASSERT_EQ(parse_number(fields[i], alone), NumberStatus::ok);
      ASSERT_EQ(std::bit_cast<uint32_t>(values[i]), std::bit_cast<uint32_t>(alone));
    }
  }
}

// Of any length, wherever the first one lies that is no byte.
TEST(ParseRun, ReadsBytesAndStopsAtWhatIsNone) {
  for (const size_t count : {1u, 63u, 64u, 65u, 200u}) {
    for (const size_t bad : {0u, 62u, 63u, 64u, 127u, 128u, 199u, 1000u}) {
      for (const char* instead : {"", "x", "1.0", "256", "-1", "4294967297"}) {
        std::string text = "skipped,";
        const size_t begin = text.size();
        std::vector<uint32_t> ends;
        for (size_t i = 0; i < count; ++i) {
          text += i == bad ? instead : std::to_string(i * 37 % 256);
          ends.push_back(static_cast<uint32_t>(text.size()));
          text += ',';
        }
        std::vector<uint8_t> values(count);
        ASSERT_EQ(parse_run({text.data(), begin, ends.data(), count}, values.data()), std::min(bad, count));
        for (size_t i = 0; i < std::min(bad, count); ++i) ASSERT_EQ(values[i], i * 37 % 256) << i << " of " << count;
      }
    }
  }
}

}  // namespace
}  // namespace millrace
