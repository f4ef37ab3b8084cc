#include "millrace/core/sizes.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "millrace/core/errors.h"

namespace millrace {
namespace {

constexpr size_t kMost = std::numeric_limits<size_t>::max();

template <class F>
std::string error_of(F call) {
  try {
    call();
  } catch (const ShapeError& error) {
    return error.what();
  }
  return "no error";
}

TEST(CeilDiv, RoundsUp) {
  EXPECT_EQ(ceil_div(0, 4), 0);
  EXPECT_EQ(ceil_div(1, 4), 1);
  EXPECT_EQ(ceil_div(4, 4), 1);
  EXPECT_EQ(ceil_div(5, 4), 2);
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(ceil_div(most, int64_t{2}), most / 2 + 1);
  EXPECT_EQ(ceil_div(kMost, size_t{1}), kMost);
}

TEST(Bytes, AreAddedAndMultiplied) {
  EXPECT_EQ(add_bytes(kMost - 5, 5), kMost);
  EXPECT_EQ(multiply_bytes(size_t{1} << 32, (size_t{1} << 32) - 1), kMost - (size_t{1} << 32) + 1);
  EXPECT_EQ(multiply_bytes(kMost, 0), 0u);
}

TEST(Bytes, NeverWrapAround) {
  EXPECT_EQ(error_of([] { add_bytes(kMost, 1); }), "18446744073709551615 + 1 bytes are more than memory can hold");
  EXPECT_EQ(error_of([] { multiply_bytes(64, size_t{1} << 59); }),
            "64 * 576460752303423488 bytes are more than memory can hold");
}

}  // namespace
}  // namespace millrace
