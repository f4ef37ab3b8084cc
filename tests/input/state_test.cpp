#include "millrace/input/op.h"

#include <gtest/gtest.h>

#include "millrace/core/errors.h"
#include "millrace/core/random.h"

namespace millrace {
namespace {

State example() {
  State state;
  state.set("batches", 12);
  state.set("draws", {1, UINT64_MAX, 3});
  state.set("empty", std::vector<uint64_t>{});
  state.set_text("graph", std::string("a\0b\n", 4));
  state.scope("reader").set("offset", 99);
  state.scope("reader").scope("names").set_text("first", "a.csv");
  state.scope("shuffle");
  return state;
}

std::string message_of(std::string_view bytes) {
  try {
    State::decode(bytes);
  } catch (const DataError& error) {
    return error.message();
  }
  return "decoded";
}

// Bytes with a checksum that holds, whatever they say.
std::string with_checksum(std::string body) {
  const uint64_t sum = fnv1a64(body);
  for (int shift = 0; shift < 64; shift += 8) body += static_cast<char>(sum >> shift & 0xff);
  return body;
}

std::string body_of(const std::string& bytes) { return bytes.substr(0, bytes.size() - 8); }

TEST(State, ComesBackAsItWas) {
  const State state = example();
  const State read = State::decode(state.encode());
  EXPECT_EQ(read, state);
  EXPECT_EQ(read.value("batches"), 12u);
  EXPECT_EQ(read.values("draws"), (std::vector<uint64_t>{1, UINT64_MAX, 3}));
  EXPECT_EQ(read.text("graph").size(), 4u);
  EXPECT_EQ(read.scope("reader").scope("names").text("first"), "a.csv");
  EXPECT_EQ(State::decode(State().encode()), State());
}

TEST(State, HasOneEncodingWhateverTheOrderOfWriting) {
  State a, b;
  a.set("x", 1);
  a.set("y", 2);
  b.set("y", 2);
  b.set("x", 7);
  b.set("x", 1);
  EXPECT_EQ(a.encode(), b.encode());
}

TEST(State, TellsWhatIsThere) {
  const State state = example();
  EXPECT_TRUE(state.has("batches"));
  EXPECT_TRUE(state.has("graph"));
  EXPECT_TRUE(state.has("reader"));
  EXPECT_FALSE(state.has("offset"));
  EXPECT_EQ(state.keys(), (std::vector<std::string>{"batches", "draws", "empty"}));
}

TEST(State, NamesTheKeyThatIsAbsent) {
  const State state = example();
  try {
    state.value("offset");
    FAIL();
  } catch (const DataError& error) {
    EXPECT_STREQ(error.what(),
                 "the saved input state has no value \"offset\"; it was saved by another version or another graph");
  }
  EXPECT_THROW(state.text("batches"), DataError);
  EXPECT_THROW(state.scope("writer"), DataError);
  try {
    state.value("draws");
    FAIL();
  } catch (const DataError& error) {
    EXPECT_STREQ(error.what(), "the saved input state has 3 values for \"draws\", but 1 is expected");
  }
}

TEST(State, RefusesEveryTruncationAndEveryChangedByte) {
  const std::string bytes = example().encode();
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_NE(message_of(std::string_view(bytes).substr(0, length)), "decoded") << length;
  }
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ 0x41);
    EXPECT_NE(message_of(changed), "decoded") << i;
  }
}

TEST(State, SaysWhatIsWrongWithTheBytes) {
  EXPECT_EQ(message_of("a: 1\n"), "this is not a saved input state: it does not begin like one");
  EXPECT_EQ(message_of("millrace state\n"), "this is not a saved input state: it ends too early");
  const std::string bytes = example().encode();
  EXPECT_EQ(message_of(bytes + "x"), "this is not a saved input state: its checksum does not match");
  EXPECT_EQ(message_of(with_checksum(body_of(bytes) + "x")),
            "this is not a saved input state: something follows its end");
  std::string newer = body_of(bytes);
  newer[15] = 9;
  EXPECT_EQ(message_of(with_checksum(newer)), "the saved input state has version 9, this library reads version 1");
}

// A checksum keeps nobody from writing lies; every change of a byte must end in a state or in an error.
TEST(State, SurvivesHostileBytesWithAGoodChecksum) {
  const std::string body = body_of(example().encode());
  int refused = 0;
  for (size_t i = 15; i < body.size(); ++i) {
    for (int value : {0, 1, 2, 0x7f, 0x80, 0xff}) {
      std::string changed = body;
      changed[i] = static_cast<char>(value);
      refused += message_of(with_checksum(changed)) != "decoded";
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST(State, RefusesKeysOutOfOrderAndBottomlessScopes) {
  const auto number = [](uint64_t value) {
    std::string out;
    for (int shift = 0; shift < 64; shift += 8) out += static_cast<char>(value >> shift & 0xff);
    return out;
  };
  const std::string start = "millrace state\n" + number(1);
  const auto entry = [&](char key) { return number(1) + key + number(0); };
  EXPECT_EQ(message_of(with_checksum(start + number(2) + entry('a') + entry('b') + number(0) + number(0))), "decoded");
  EXPECT_EQ(message_of(with_checksum(start + number(2) + entry('a') + entry('a') + number(0) + number(0))),
            "this is not a saved input state: the key \"a\" is out of order");
  std::string deep = start;
  for (int depth = 0; depth < 100000; ++depth) deep += number(0) + number(0) + number(1) + number(1) + "s";
  EXPECT_EQ(message_of(with_checksum(deep)), "this is not a saved input state: its parts are nested too deeply");
}

}  // namespace
}  // namespace millrace
