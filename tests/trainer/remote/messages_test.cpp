#include "millrace/trainer/remote/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "millrace/core/errors.h"
#include "millrace/version.h"

namespace millrace {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Messages, ComeBack) {
  State told = make_message(message::kDecode);
  const UnitNumbers unit{.source = 1,
                         .file = 2,
                         .begin = 3,
                         .end = 4,
                         .pass = 5,
                         .file_ordinal = 6,
                         .line = 7,
                         .part_begin = 8,
                         .part_end = 9,
                         .part_text = 10,
                         .exact = true};
  set_unit(told, unit);
  const ZmqParts parts = to_parts(told);
  const State back = read_message(parts);
  EXPECT_EQ(back.text("is"), message::kDecode);
  EXPECT_EQ(unit_of(back), unit);
}

TEST(Messages, OtherBytesAreRefused) {
  EXPECT_THROW(read_message({}), DataError);
  for (const char* bytes : {"", "hello", "\x01\x02\x03"}) {
    ZmqParts parts;
    parts.emplace_back(bytes);
    EXPECT_THROW(read_message(parts), DataError) << bytes;
  }
  EXPECT_THROW(read_message(to_parts(State())), DataError) << "it does not say what it is";
  State short_one = make_message(message::kDecode);
  short_one.set("unit", {1, 2, 3});
  EXPECT_THROW(unit_of(short_one), DataError);
}

TEST(Messages, BytesThatAreTooManyForAFrameComeInSeveral) {
  std::string all;
  for (size_t i = 0; i < (size_t{20} << 20); ++i) all += static_cast<char>(i % 251);
  ZmqParts parts = to_parts(make_message(message::kChunk));
  add_bytes(parts, all);
  EXPECT_GT(parts.size(), 2u);
  for (const ZmqPart& part : parts) EXPECT_LE(part.bytes().size(), ZmqSocket::kMostFrameBytes);
  std::string joined;
  EXPECT_TRUE(bytes_of(parts, joined) == all);

  ZmqParts few = to_parts(make_message(message::kChunk));
  add_bytes(few, "few");
  EXPECT_EQ(bytes_of(few, joined), "few");
}

TEST(Messages, TellWhatDecides) {
  EXPECT_THAT(decoder_versions(), HasSubstr(cat("Millrace ", version())));
  EXPECT_THAT(decoder_versions(), Not(HasSubstr("oneDNN")));
#ifdef MILLRACE_HAS_JPEG
  EXPECT_THAT(decoder_versions(), ContainsRegex("jpeg [0-9]+[.][0-9]"));
#endif
#ifdef MILLRACE_HAS_PNG
  EXPECT_THAT(decoder_versions(), ContainsRegex("png [0-9]+[.][0-9]"));
#endif
}

}  // namespace
}  // namespace millrace
