#include "millrace/input/compressed/text_resources.h"

#include <gtest/gtest.h>

#include "millrace/input/compressed/compressed_text.h"
#include "tests/input/compressed/compressing.h"

#ifdef MILLRACE_TESTS_COMPRESSED

namespace millrace {
namespace {

using testing_support::CountedFile;
using testing_support::entry_of;
using testing_support::gzip_of;
using testing_support::numbers_text;
using testing_support::zstd_of;

struct OneText {
  OneText(TextResources& shared, const std::string& bytes)
      : raw(bytes),
        text({.entry = entry_of("f", bytes.size()), .end = bytes.size()}, compression_of(bytes), shared, raw) {}
  CountedFile raw;
  CompressedText text;
};

TEST(TextResources, MemoryIsTakenAsLongAsThereIsSome) {
  TextResources shared;
  EXPECT_TRUE(shared.take_memory(TextResources::kOfSource - 1));
  EXPECT_FALSE(shared.take_memory(2));
  EXPECT_TRUE(shared.take_memory(1));
  shared.give_memory(5);
  EXPECT_FALSE(shared.take_memory(6));
  EXPECT_TRUE(shared.take_memory(5));
}

TEST(TextResources, ADecoderIsLentAgainWhereItStands) {
  TextResources shared;
  OneText one(shared, gzip_of(numbers_text(100000))), other(shared, gzip_of(numbers_text(50000)));
  const auto take_at = [&](OneText& from, uint64_t offset, const TextPoint& point = {}) {
    auto decoder = shared.take(from.text, offset, point);
    while (decoder->skip(from.raw, offset)) {
    }
    return decoder;
  };
  auto first = take_at(one, 1000), second = take_at(one, 3000);
  const TextDecoder* const at_1000 = first.get();
  const TextDecoder* const at_3000 = second.get();
  shared.give(one.text, std::move(first));
  shared.give(one.text, std::move(second));
  auto near = shared.take(one.text, 5000, {});
  EXPECT_EQ(near.get(), at_3000) << "the one that is nearer";
  EXPECT_EQ(near->text(), 3000u);
  shared.give(one.text, std::move(near));
  auto before = shared.take(one.text, 2000, {});
  EXPECT_EQ(before.get(), at_1000) << "the other one is past it";
  EXPECT_EQ(before->text(), 1000u);
  shared.give(one.text, std::move(before));
  auto elsewhere = shared.take(other.text, 2000, {});
  EXPECT_TRUE(elsewhere.get() == at_1000 || elsewhere.get() == at_3000) << "its memory is used again";
  EXPECT_EQ(elsewhere->text(), 0u) << "but it begins anew";
}

TEST(TextResources, NobodyGetsADecoderThatFailedOrThatAPointIsAheadOf) {
  TextResources shared;
  const std::string text = numbers_text(100000), bytes = gzip_of(text);
  OneText one(shared, bytes.substr(0, bytes.size() / 2));
  auto decoder = shared.take(one.text, 0, {});
  EXPECT_THROW(while (decoder->skip(one.raw, text.size())){}, DataError);
  shared.give(one.text, std::move(decoder));
  auto again = shared.take(one.text, text.size(), {});
  EXPECT_EQ(again->text(), 0u);
  EXPECT_FALSE(again->failed());
  while (again->skip(one.raw, 10)) {
  }
  shared.give(one.text, std::move(again));
  EXPECT_EQ(shared.take(one.text, 500, {.text = 100, .at = 50})->text(), 100u) << "from the point, not from before it";
  shared.give(one.text, nullptr);
}

TEST(TextResources, KindsHaveTheirOwnDecoders) {
  TextResources shared;
  OneText gzip(shared, gzip_of("1\n")), zstd(shared, zstd_of("2\n"));
  for (int round = 0; round < 2; ++round) {
    for (OneText* one : {&gzip, &zstd}) {
      auto decoder = shared.take(one->text, 0, {});
      char got[10];
      EXPECT_EQ(decoder->read(one->raw, got, sizeof got), 2u);
      EXPECT_EQ(got[0], one == &gzip ? '1' : '2');
      shared.give(one->text, std::move(decoder));
    }
  }
}

TEST(TextResources, GuessesAsItLearned) {
  TextResources shared;
  EXPECT_FALSE(shared.end_with_lines());
  shared.learn_end(true);
  EXPECT_TRUE(shared.end_with_lines());
}

}  // namespace
}  // namespace millrace

#endif
