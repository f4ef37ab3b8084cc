#include "millrace/input/csv/text_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Events = std::vector<std::pair<uint32_t, uint32_t>>;

std::vector<uint32_t> separators(TextIndex& index) {
  return {index.separators(), index.separators() + index.separator_count()};
}

Events events(const TextIndex& index) {
  Events out;
  for (size_t i = 0; i < index.event_count(); ++i) {
    out.emplace_back(index.events()[i].position, index.events()[i].separators);
  }
  return out;
}

TEST(TextIndex, FindsDelimitersLineFeedsAndQuotes) {
  TextIndex index;
  const std::string text = "1,22,\"a\"\n3\n";
  index.extend(text.data(), text.size(), {',', '"'});
  EXPECT_THAT(separators(index), ElementsAre(1, 4, 8, 10));
  EXPECT_EQ(events(index), (Events{{5, 2}, {7, 2}, {8, 2}, {10, 3}}));
}

TEST(TextIndex, LeavesQuotesAloneWhereThereAreNone) {
  TextIndex index;
  const std::string text = "\"a\";b,\n";
  index.extend(text.data(), text.size(), {';', std::nullopt});
  EXPECT_THAT(separators(index), ElementsAre(3, 6));
  EXPECT_EQ(events(index), (Events{{6, 1}}));
}

TEST(TextIndex, TakesTheEndOfTheTextForALineFeed) {
  TextIndex index;
  index.extend("1,2", 3, {',', '"'});
  index.finish();
  EXPECT_THAT(separators(index), ElementsAre(1, 3));
  EXPECT_EQ(events(index), (Events{{3, 1}}));
}

TEST(TextIndex, KeepsOnlyWhatIsAskedFor) {
  TextIndex index;
  const std::string text = "1,2\n3,4,5,";
  index.extend(text.data(), text.size(), {',', '"'});
  index.keep(2, 4);
  EXPECT_THAT(separators(index), ElementsAre(5, 7));
  EXPECT_THAT(events(index), IsEmpty());
  EXPECT_EQ(index.size(), text.size());
  const std::string more = text + "6\n";
  index.extend(more.data(), more.size(), {',', '"'});
  EXPECT_EQ(events(index), (Events{{11, 2}})) << "separators that are held are counted";
  index.clear();
  EXPECT_EQ(index.size(), 0u);
  EXPECT_THAT(separators(index), IsEmpty());
}

// Bytes that differ from a mark by one bit, or follow one, are where tricks with words go wrong.
TEST(TextIndex, AgreesWithALoopOverTheBytesWhateverTheWindows) {
  std::mt19937_64 random(1);
  const std::string alphabet = std::string(",-\n\x0b\"#!\x8c\xac\x8a\xa2\x01\xff", 13) + '\0';
  for (int round = 0; round < 300; ++round) {
    std::string text(random() % 80, ' ');
    for (char& c : text) c = alphabet[random() % alphabet.size()];
    TextIndex index;
    while (index.size() < text.size()) {
      index.extend(text.data(), index.size() + 1 + random() % (text.size() - index.size()), {',', '"'});
    }
    std::vector<uint32_t> expected;
    Events expected_events;
    for (uint32_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n' || text[i] == '"') expected_events.emplace_back(i, expected.size());
      if (text[i] == '\n' || text[i] == ',') expected.push_back(i);
    }
    ASSERT_EQ(separators(index), expected);
    ASSERT_EQ(events(index), expected_events);
  }
}

}  // namespace
}  // namespace millrace
