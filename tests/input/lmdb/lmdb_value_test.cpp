#include "millrace/input/lmdb/lmdb_value.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/input/arrays/array_bytes.h"
#include "tests/input/op_testing.h"

namespace millrace {
namespace {

using testing_support::bytes_of_numbers;
using testing_support::error_of;
using testing_support::npy_array;
using testing_support::row_text;

// The row that a value becomes, after the array `first` was looked at.
std::string read(const LmdbValue::Settings& settings, const std::string& value, const std::string& first = {}) {
  try {
    LmdbValue field(settings);
    field.look_at(first);
    RowBlock rows;
    rows.configure({{field.field()}}, 1);
    rows.resize(1);
    field.read(value, rows, 0, 0);
    return cat(field.field().type_text(), ": ", row_text(rows, 0));
  } catch (const DataError& error) {
    return error.what();
  }
}

TEST(LmdbValue, AreNumbers) {
  const LmdbType bytes = static_cast<LmdbType>(NumberType::uint8), shorts = static_cast<LmdbType>(NumberType::int16);
  EXPECT_EQ(read({.field = "x", .type = bytes, .size = {2, 1}}, "\x01\x02"), "uint8 (2, 1): x=1,2");
  EXPECT_EQ(read({.field = "x", .type = bytes}, "\x07"), "uint8 (1): x=7");
  const std::string big("\0\1\xff\xfe", 4);
  EXPECT_EQ(read({.field = "x", .type = shorts, .big_endian = true, .size = {2}}, big), "int32 (2): x=1,-2");
  EXPECT_EQ(read({.field = "x", .type = shorts, .offset = 2}, big), "int32 (1): x=-257");
}

TEST(LmdbValue, HaveTheLengthThatTheFieldSays) {
  const LmdbType bytes = static_cast<LmdbType>(NumberType::uint8);
  EXPECT_EQ(read({.field = "x", .type = bytes, .size = {2}}, "abc"), "the value of x has 3 bytes, expected 2");
  EXPECT_EQ(read({.field = "x", .type = bytes, .size = {2}}, "a"), "the value of x has 1 byte, expected 2");
  EXPECT_EQ(read({.field = "x", .type = bytes, .offset = 1, .size = {2}}, "abcd"), "uint8 (2): x=98,99")
      << "there may be more";
  EXPECT_EQ(read({.field = "x", .type = bytes, .offset = 1, .size = {3}}, "abc"),
            "the value of x has 3 bytes, expected at least 4");
  EXPECT_EQ(read({.field = "x", .type = LmdbType::string, .offset = 4}, "abc"),
            "the value of x has 3 bytes, expected at least 4");
}

TEST(LmdbValue, AreTexts) {
  EXPECT_EQ(read({.field = "x", .type = LmdbType::string}, "cat"), "string (1): x=\"cat\"");
  EXPECT_EQ(read({.field = "x", .type = LmdbType::string, .offset = 1}, "cat"), "string (1): x=\"at\"");
  EXPECT_EQ(read({.field = "x", .type = LmdbType::string, .offset = 3}, "cat"), "string (1): x=\"\"");
}

TEST(LmdbValue, AreArrays) {
  const std::string first = npy_array("<f4", "(2, 1)", bytes_of_numbers<float>({1, 2}));
  const LmdbValue::Settings x = {.field = "x"};
  EXPECT_EQ(read(x, first, first), "float32 (2, 1): x=1,2");
  EXPECT_EQ(read(x, npy_array("<f4", "(2, 1)", bytes_of_numbers<float>({3, 4})), first), "float32 (2, 1): x=3,4");
  EXPECT_EQ(read(x, npy_array(">f4", "(2, 1)", bytes_of_numbers<float>({3, 4}, true)), first), "float32 (2, 1): x=3,4")
      << "of another order of bytes";
  EXPECT_EQ(read(x, npy_array("<f4", "(2,)", bytes_of_numbers<float>({3, 4})), first),
            "the array of x is float32 (2), expected float32 (2, 1) as in the first row");
  EXPECT_EQ(read(x, npy_array("<i4", "(2, 1)", bytes_of_numbers<int>({3, 4})), first),
            "the array of x is int32 (2, 1), expected float32 (2, 1) as in the first row");
  EXPECT_EQ(read({.field = "x", .offset = 1}, "a" + first, "b" + first), "float32 (2, 1): x=1,2");
  EXPECT_EQ(read(x, "no array", first),
            "the value is no array of NumPy; a picture or a text has type: string; numbers have their own");
  EXPECT_EQ(read(x, first, "no array").substr(0, 30), "the value is no array of NumPy");
}

TEST(LmdbValue, ANumberMayBeAnArray) {
  const std::string label = npy_array("<i8", "()", bytes_of_numbers<int64_t>({9}));
  EXPECT_EQ(read({.field = "y"}, label, label), "int64 (1): y=9");
}

}  // namespace
}  // namespace millrace
