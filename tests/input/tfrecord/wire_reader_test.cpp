#include "millrace/input/tfrecord/wire_reader.h"

#include <gtest/gtest.h>

#include <string>

#include "millrace/core/text.h"
#include "tests/input/tfrecord/tfrecords.h"

namespace millrace {
namespace {

using namespace std::string_literals;
using testing_support::number_bytes;
using testing_support::tag;
using testing_support::varint;
using testing_support::wire_field;

// "1/2 ab, 2/0 7f; failed".
std::string fields_of(std::string_view message) {
  std::string out;
  WireReader fields(message);
  while (fields.next()) {
    out += cat(out.empty() ? "" : ", ", fields.number(), '/', static_cast<int>(fields.type()), ' ', fields.bytes());
  }
  EXPECT_FALSE(fields.next());
  return out + (fields.failed() ? "; failed" : "");
}

TEST(WireReader, GivesFieldsOfEveryType) {
  const std::string message = wire_field(1, "ab") + tag(2, 0) + "!" + tag(3, 5) + "four" + tag(4, 1) + "eight..." +
                              wire_field(5, "") + wire_field(536870911, "x");
  EXPECT_EQ(fields_of(message), "1/2 ab, 2/0 !, 3/5 four, 4/1 eight..., 5/2 , 536870911/2 x");
  EXPECT_EQ(fields_of(""), "");
}

TEST(WireReader, SaysWhatIsLeft) {
  const std::string message = wire_field(1, "ab") + wire_field(2, "c");
  WireReader fields(message);
  ASSERT_TRUE(fields.next());
  EXPECT_TRUE(fields.is(1, WireType::bytes));
  EXPECT_FALSE(fields.is(2, WireType::bytes));
  EXPECT_FALSE(fields.is(1, WireType::varint));
  EXPECT_EQ(fields.left(), wire_field(2, "c"));
}

TEST(WireReader, FailsWhereNoFieldIs) {
  const std::string good = wire_field(1, "ab");
  for (const std::string& bad :
       {"\x0a"s, "\x0a\x03"s + "ab", "\x0a\x80"s, "\x80"s, "\0"s, "\x02\0"s, tag(1, 5) + "abc", tag(1, 1) + "abcdefg",
        tag(1, 0), tag(1, 0) + "\xff", tag(1, 3) + tag(1, 4), tag(1, 6), tag(1, 7), tag(1, 2) + varint(UINT64_MAX),
        varint(uint64_t{1} << 32 | 10) + "\0"s, tag(1, 0) + std::string(10, '\xff') + "\1"}) {
    EXPECT_EQ(fields_of(good + bad), "1/2 ab; failed") << quote(bad);
  }
}

TEST(WireReader, TakesNumbersOfUpTo64Bits) {
  for (const uint64_t number : {uint64_t{0}, uint64_t{1}, uint64_t{127}, uint64_t{128}, uint64_t{300}, UINT64_MAX}) {
    const std::string bytes = varint(number) + "rest";
    std::string_view left = bytes;
    uint64_t got = 0;
    ASSERT_TRUE(take_varint(left, got));
    EXPECT_EQ(got, number);
    EXPECT_EQ(left, "rest");
  }
}

}  // namespace
}  // namespace millrace
