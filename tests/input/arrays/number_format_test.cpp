#include "millrace/input/arrays/number_format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/input/arrays/array_bytes.h"

namespace millrace {
namespace {

using testing_support::bytes_of_numbers;

template <class T>
std::vector<T> read(const NumberFormat& format, const std::string& bytes) {
  std::vector<T> out(bytes.size() / format.bytes());
  format.read(reinterpret_cast<const std::byte*>(bytes.data()), out.size(), reinterpret_cast<std::byte*>(out.data()));
  return out;
}

// Every number of a type becomes the same number of a field, whichever byte comes first.
template <class Stored, class Field>
void check_exact(NumberType type, const std::vector<Stored>& numbers) {
  const std::vector<Field> expected(numbers.begin(), numbers.end());
  for (const bool big : {false, true}) {
    const NumberFormat format{.type = type, .big_endian = big};
    EXPECT_EQ(format.bytes(), sizeof(Stored));
    EXPECT_EQ(format.dtype(), DTypeOf<Field>::value);
    EXPECT_EQ(read<Field>(format, bytes_of_numbers(numbers, big)), expected) << (big ? "big-endian" : "little-endian");
  }
}

template <class T>
std::vector<T> ends() {
  return {std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), T{0}, T{1}, T{77}};
}

TEST(NumberFormat, ReadsEveryTypeExactly) {
  check_exact<uint8_t, uint8_t>(NumberType::uint8, ends<uint8_t>());
  check_exact<int8_t, int32_t>(NumberType::int8, ends<int8_t>());
  check_exact<int16_t, int32_t>(NumberType::int16, ends<int16_t>());
  check_exact<uint16_t, int32_t>(NumberType::uint16, ends<uint16_t>());
  check_exact<int32_t, int32_t>(NumberType::int32, ends<int32_t>());
  check_exact<uint32_t, int64_t>(NumberType::uint32, ends<uint32_t>());
  check_exact<int64_t, int64_t>(NumberType::int64, ends<int64_t>());
  check_exact<float, float>(NumberType::float32, {0.1F, -3e38F, 1e-45F, std::numeric_limits<float>::infinity()});
  check_exact<double, double>(NumberType::float64, {0.1, -1e308, 5e-324});
}

TEST(NumberFormat, TruthIsZeroOrOne) {
  const NumberFormat format{.type = NumberType::boolean};
  EXPECT_EQ(format.dtype(), DType::u8);
  EXPECT_EQ(read<uint8_t>(format, std::string("\0\1\2\xff", 4)), (std::vector<uint8_t>{0, 1, 1, 1}));
}

TEST(NumberFormat, ReadsEveryHalf) {
  for (const bool big : {false, true}) {
    std::vector<uint16_t> all(65536);
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
    const NumberFormat format{.type = NumberType::float16, .big_endian = big};
    const std::vector<float> values = read<float>(format, bytes_of_numbers(all, big));
    for (size_t i = 0; i < all.size(); ++i) {
      const int exponent = static_cast<int>(i >> 10 & 31), fraction = static_cast<int>(i & 1023);
      const double sign = i < 32768 ? 1 : -1;
      if (exponent == 31 && fraction != 0) {
        ASSERT_TRUE(std::isnan(values[i])) << i;
        continue;
      }
      double expected = sign * std::ldexp(fraction + (exponent > 0 ? 1024 : 0), std::max(exponent, 1) - 25);
      if (exponent == 31) expected = sign * std::numeric_limits<double>::infinity();
      ASSERT_EQ(values[i], expected) << i;
      ASSERT_EQ(std::signbit(values[i]), sign < 0) << i;
    }
  }
}

TEST(NumberFormat, OnlyUnchangedBytesArePlain) {
  EXPECT_TRUE((NumberFormat{.type = NumberType::float32}.is_plain()));
  EXPECT_TRUE((NumberFormat{.type = NumberType::uint8, .big_endian = true}.is_plain()));
  EXPECT_FALSE((NumberFormat{.type = NumberType::float32, .big_endian = true}.is_plain()));
  EXPECT_FALSE((NumberFormat{.type = NumberType::boolean}.is_plain()));
  EXPECT_FALSE((NumberFormat{.type = NumberType::float16}.is_plain()));
  EXPECT_FALSE((NumberFormat{.type = NumberType::uint32}.is_plain()));
}

}  // namespace
}  // namespace millrace
