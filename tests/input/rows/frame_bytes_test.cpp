#include "millrace/input/rows/frame_bytes.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/input/op_testing.h"

namespace millrace {
namespace {

using testing_support::error_of;
using testing_support::throws_exactly;

constexpr FrameKind kKind = {"abc", 7, "a test"};
constexpr std::string_view kHint = "; they were cut off, changed, or written by something else";

template <class Put>
std::string frame_of(const Put& put) {
  std::string out;
  append_frame(kKind, out, put);
  return out;
}

std::string frame_of_bytes(std::string_view bytes) {
  return frame_of([&](auto& sink) { sink.raw(bytes.data(), bytes.size()); });
}

TEST(FrameBytes, ComeBackAsTheyWerePut) {
  std::vector<uint64_t> numbers = {0, 1, 127, 128, 300, 1 << 21, UINT32_MAX, UINT64_MAX - 1, UINT64_MAX};
  for (int bit = 0; bit < 64; ++bit) numbers.push_back(uint64_t{1} << bit);
  const std::string frame = frame_of([&](auto& sink) {
    for (const uint64_t number : numbers) {
      sink.number(number);
      sink.difference(number);
    }
    sink.text("a text");
    sink.text("");
    if (std::byte* const room = sink.room(2); room != nullptr) std::memcpy(room, "xy", 2);
    sink.raw(nullptr, 0);
  });
  FrameReader reader(kKind, frame);
  for (const uint64_t number : numbers) {
    EXPECT_EQ(reader.number(), number);
    EXPECT_EQ(reader.difference(), number);
  }
  EXPECT_EQ(reader.text(), "a text");
  EXPECT_EQ(reader.text(), "");
  EXPECT_EQ(reader.raw(2), "xy");
  reader.end();
}

TEST(FrameBytes, SmallNumbersAndDifferencesTakeAByte) {
  const std::string frame = frame_of([](auto& sink) {
    for (const uint64_t number : {0u, 127u}) sink.number(number);
    for (const int64_t difference : {-64, -1, 0, 63}) sink.difference(static_cast<uint64_t>(difference));
  });
  EXPECT_EQ(frame.size(), kFrameHeadBytes + 6);
}

TEST(FrameBytes, AreAddedToWhatIsThere) {
  std::string out = "before";
  append_frame(kKind, out, [](auto& sink) { sink.number(5); });
  append_frame(kKind, out, [](auto&) {});
  ASSERT_EQ(out.size(), 6 + 2 * kFrameHeadBytes + 1);
  EXPECT_EQ(out.substr(0, 6), "before");
  EXPECT_EQ(FrameReader(kKind, out.substr(6, kFrameHeadBytes + 1)).number(), 5u);
  FrameReader(kKind, out.substr(6 + kFrameHeadBytes + 1)).end();
}

// The form, on record: a frame lies in files, too.
TEST(FrameBytes, AreTheseBytes) {
  EXPECT_EQ(frame_of_bytes("x"), std::string("abc\x07\x11\xcd\xb2\x80\x64\x6c\xf0\xeax", kFrameHeadBytes + 1));
}

TEST(FrameBytes, RefuseOtherBytes) {
  const auto begin = [](std::string_view bytes) { return error_of([&] { FrameReader(kKind, bytes); }); };
  std::string frame = frame_of_bytes("some bytes");
  EXPECT_EQ(begin(""), cat("these bytes are not a test: they do not begin like that", kHint));
  EXPECT_EQ(begin("abd"), cat("these bytes are not a test: they do not begin like that", kHint));
  EXPECT_EQ(begin("abc\x07"), cat("these bytes are not a test: they end too early", kHint));
  EXPECT_EQ(begin(frame + "x"), cat("these bytes are not a test: the checksum does not match", kHint));
  frame[3] = 8;
  EXPECT_EQ(begin(frame),
            "these bytes are a test of version 8, this library reads version 7; write and read them with the same "
            "version of Millrace");
}

TEST(FrameBytes, RefuseWhatDoesNotFit) {
  const auto refusal = [](std::string_view bytes, const auto& read) {
    const std::string frame = frame_of_bytes(bytes);
    FrameReader reader(kKind, frame);
    EXPECT_TRUE(throws_exactly<DataError>([&] { read(FrameReader(reader)); }));
    const std::string error = error_of([&] { read(reader); });
    const std::string_view start = "these bytes are not a test: ";
    return error.starts_with(start) ? error.substr(start.size(), error.find(';') - start.size()) : error;
  };
  const auto number = [](auto&& reader) { reader.number(); };
  EXPECT_EQ(refusal("", number), "they end too early");
  EXPECT_EQ(refusal("\x80\x80", number), "they end too early");
  EXPECT_EQ(refusal("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", number), "a number is too large");
  EXPECT_EQ(refusal("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", number), "a number is too large");
  EXPECT_EQ(refusal("\x05", [](auto&& reader) { reader.number_up_to(4); }), "a number is too large");
  EXPECT_EQ(refusal("\x03zzzzz", [](auto&& reader) { reader.count(2); }), "a count reaches beyond their end");
  EXPECT_EQ(refusal("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", [](auto&& reader) { reader.count(1); }),
            "a count reaches beyond their end");
  EXPECT_EQ(refusal("\x02z", [](auto&& reader) { reader.text(); }), "a count reaches beyond their end");
  EXPECT_EQ(refusal("zz", [](auto&& reader) { reader.raw(3); }), "they end too early");
  EXPECT_EQ(refusal("z", [](auto&& reader) { reader.end(); }), "something follows their end");
  EXPECT_EQ(refusal("", [](auto&& reader) { reader.refuse("of a reason"); }), "of a reason");
}

}  // namespace
}  // namespace millrace
