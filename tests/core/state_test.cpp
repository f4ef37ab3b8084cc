#include "millrace/core/state.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>

#include "millrace/core/errors.h"
#include "tests/core/state_bytes.h"

namespace millrace {
namespace {

using testing_support::number_bytes;
using testing_support::with_checksum;
using testing_support::without_checksum;

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

TEST(State, HoldsAfterClearOnlyWhatIsSetAnew) {
  const auto fill = [](State& state) {
    state.set("draws", {9});
    const std::span<uint64_t> list = state.list("empty", 2);
    list[0] = 4;
    list[1] = 5;
    state.set_real("loss", 0.5);
    state.set_text("graph", "b");
    state.scope("reader").set("line", 3);
    state.scope("reader").scope("names");
  };
  State fresh;
  fill(fresh);
  State state = example();
  state.clear();
  EXPECT_EQ(state, State());
  EXPECT_EQ(state.encode(), State().encode());
  fill(state);
  EXPECT_EQ(state, fresh);
  EXPECT_EQ(state.encode(), fresh.encode());
  EXPECT_EQ(state.keys(), fresh.keys());
  for (const char* gone : {"batches", "shuffle"}) EXPECT_FALSE(state.has(gone)) << gone;
  EXPECT_FALSE(state.scope("reader").has("offset"));
  EXPECT_FALSE(state.scope("reader").scope("names").has("first"));
  EXPECT_THROW(std::as_const(state).scope("shuffle"), DataError);
}

TEST(State, IsCopiedAsIfNothingHadBeenCleared) {
  State state = example();
  state.clear();
  state.set("batches", 13);
  State copy = state;
  copy.set("draws", {2});
  EXPECT_EQ(copy.values("draws"), std::vector<uint64_t>{2});
  EXPECT_FALSE(state.has("draws"));
  const State other = example();
  state = other;
  EXPECT_EQ(state, other);
  state.clear();
  EXPECT_EQ(state, State()) << "also keys that were there twice";
}

// The memory of a list is what a bound counts, however often it grew.
TEST(State, TakesTheMemoryOfAListAgain) {
  State state;
  state.list("rows", 100);
  state.list("rows", 101);
  EXPECT_EQ(state.values("rows").capacity(), 101u);
  const uint64_t* const first = state.values("rows").data();
  for (const size_t count : {size_t{7}, size_t{101}}) {
    state.clear();
    EXPECT_EQ(state.list("rows", count).data(), first);
    EXPECT_EQ(state.values("rows").size(), count);
  }
}

TEST(State, KeepsEveryBitOfADouble) {
  const double quiet = std::bit_cast<double>(uint64_t{0x7ff8000000000123});
  const std::vector<double> given = {0.1, -0.0, std::numeric_limits<double>::denorm_min(), -INFINITY, quiet};
  State state;
  state.set_reals("sums", given);
  state.set_real("loss", quiet);
  state.set_reals("none", {});
  const State read = State::decode(state.encode());
  const std::vector<double> sums = read.reals("sums");
  ASSERT_EQ(sums.size(), given.size());
  for (size_t i = 0; i < given.size(); ++i) {
    EXPECT_EQ(std::bit_cast<uint64_t>(sums[i]), std::bit_cast<uint64_t>(given[i])) << i;
  }
  EXPECT_EQ(std::bit_cast<uint64_t>(read.real("loss")), std::bit_cast<uint64_t>(quiet));
  EXPECT_TRUE(read.reals("none").empty());
  EXPECT_THROW(read.real("sums"), DataError) << "five values";
  EXPECT_THROW(read.reals("weight"), DataError);
}

TEST(State, NamesTheKeyThatIsAbsent) {
  const State state = example();
  try {
    state.value("offset");
    FAIL();
  } catch (const DataError& error) {
    EXPECT_STREQ(error.what(),
                 "the saved state has no value \"offset\"; it was saved by another version or another configuration");
  }
  EXPECT_THROW(state.text("batches"), DataError);
  EXPECT_THROW(state.scope("writer"), DataError);
  try {
    state.value("draws");
    FAIL();
  } catch (const DataError& error) {
    EXPECT_STREQ(error.what(), "the saved state has 3 values for \"draws\", but 1 is expected");
  }
}

TEST(State, RefusesNumbersAboveWhatTheirReaderCanUse) {
  State state = example();
  EXPECT_EQ(state.count("batches"), 12u);
  EXPECT_EQ(state.count("batches", 12), 12);
  static_assert(std::is_same_v<decltype(state.count("batches", int64_t{12})), int64_t>);
  try {
    state.count("batches", 11);
    FAIL();
  } catch (const DataError& error) {
    EXPECT_STREQ(error.what(),
                 "the saved state has 12 for \"batches\", expected at most 11; it was changed, or it was saved by "
                 "another version or another configuration");
  }
  state.set("rows", State::kMostCount);
  EXPECT_EQ(state.count<int64_t>("rows"), int64_t{State::kMostCount});
  state.set("rows", State::kMostCount + 1);
  EXPECT_THROW(state.count("rows"), DataError);
  EXPECT_THROW(state.count("draws", UINT64_MAX), DataError) << "three values";
  EXPECT_THROW(state.count("offset"), DataError) << "none";
}

TEST(State, RefusesListsThatAreNotGroupsOfSuchNumbers) {
  const State state = example();
  EXPECT_EQ(state.counts("draws", {1, UINT64_MAX, 3}).size(), 3u);
  EXPECT_EQ(state.counts("draws", {UINT64_MAX}).size(), 3u);
  EXPECT_TRUE(state.counts("empty", {1, 2}).empty());
  EXPECT_THROW(state.counts("draws", {1, UINT64_MAX, 2}), DataError);
  EXPECT_THROW(state.counts("draws", {3}), DataError);
  EXPECT_THROW(state.counts("draws", {UINT64_MAX, UINT64_MAX}), DataError) << "a group and a half";
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
  EXPECT_EQ(message_of("a: 1\n"), "this is not a saved state: it does not begin like one");
  EXPECT_EQ(message_of("millrace state\n"), "this is not a saved state: it ends too early");
  const std::string bytes = example().encode();
  EXPECT_EQ(message_of(bytes + "x"), "this is not a saved state: its checksum does not match");
  EXPECT_EQ(message_of(with_checksum(without_checksum(bytes) + "x")),
            "this is not a saved state: something follows its end");
  std::string newer = without_checksum(bytes);
  newer[15] = 9;
  EXPECT_EQ(message_of(with_checksum(newer)), "the saved state has version 9, this library reads version 1");
}

// A checksum keeps nobody from writing lies; every change of a byte must end in a state or in an error.
TEST(State, SurvivesHostileBytesWithAGoodChecksum) {
  const std::string body = without_checksum(example().encode());
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
  const std::string start = "millrace state\n" + number_bytes(1);
  const auto entry = [&](char key) { return number_bytes(1) + key + number_bytes(0); };
  EXPECT_EQ(
      message_of(with_checksum(start + number_bytes(2) + entry('a') + entry('b') + number_bytes(0) + number_bytes(0))),
      "decoded");
  EXPECT_EQ(
      message_of(with_checksum(start + number_bytes(2) + entry('a') + entry('a') + number_bytes(0) + number_bytes(0))),
      "this is not a saved state: the key \"a\" is out of order");
  std::string deep = start;
  for (int depth = 0; depth < 100000; ++depth)
    deep += number_bytes(0) + number_bytes(0) + number_bytes(1) + number_bytes(1) + "s";
  EXPECT_EQ(message_of(with_checksum(deep)), "this is not a saved state: its parts are nested too deeply");
}

}  // namespace
}  // namespace millrace
