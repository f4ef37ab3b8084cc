#include "millrace/input/parquet/page_header.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/input/op_testing.h"
#include "tests/input/parquet/parquet_bytes.h"

namespace millrace {
namespace {

using testing_support::data_page;
using testing_support::dictionary_page;
using testing_support::error_of;
using testing_support::page_of;
using testing_support::Thrift;

TEST(PageHeader, ReadsBothVersionsAndDictionaries) {
  const std::string first = data_page({.entries = 5, .encoding = 8, .body = "abc", .bytes = 10, .crc = 0xfffffffe});
  PageHeader header = *read_page_header(first);
  EXPECT_EQ(header.kind, PageHeader::Kind::data);
  EXPECT_FALSE(header.second_version);
  EXPECT_EQ(header.encoding, PageEncoding::rle_dictionary);
  EXPECT_EQ(header.entries, 5u);
  EXPECT_EQ(header.bytes, 10u);
  EXPECT_EQ(header.packed_bytes, 3u);
  EXPECT_EQ(header.header_bytes, first.size() - 3);
  EXPECT_EQ(header.crc, 0xfffffffe);
  EXPECT_FALSE(header.old_definition);

  header = *read_page_header(data_page({.entries = 7, .body = "abcdef"},
                                       {.rows = 3, .definition_bytes = 2, .repetition_bytes = 4, .packed = false}));
  EXPECT_TRUE(header.second_version);
  EXPECT_EQ(header.definition_bytes, 2u);
  EXPECT_EQ(header.repetition_bytes, 4u);
  EXPECT_FALSE(header.packed);

  header = *read_page_header(dictionary_page({.entries = 4, .encoding = 2, .body = "x"}));
  EXPECT_EQ(header.kind, PageHeader::Kind::dictionary);
  EXPECT_EQ(header.entries, 4u);
  EXPECT_EQ(read_page_header(page_of(1, {.body = "index"}, 6, {}))->kind, PageHeader::Kind::other);
}

// Columns without levels may name an encoding that is no longer in use for them.
TEST(PageHeader, TellsOfOldLevels) {
  const auto header = read_page_header(page_of(0, {}, 5, Thrift().number(1, 1).number(2, 0).number(3, 3).number(4, 4)));
  EXPECT_FALSE(header->old_definition);
  EXPECT_TRUE(header->old_repetition);
}

TEST(PageHeader, AsksForMoreBytes) {
  const std::string whole = data_page({.entries = 5});
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(read_page_header(std::string_view(whole).substr(0, size)).has_value()) << size;
  }
  EXPECT_TRUE(read_page_header(whole).has_value());
}

TEST(PageHeader, RefusesWhatIsNone) {
  const std::string damaged = "the Parquet file is damaged: a page ";
  const std::string hint = "; was it copied or downloaded as a whole?";
  const auto error = [](const std::string& bytes) { return error_of([&] { read_page_header(bytes); }); };
  for (const int encoding : {-1, 1, 4, 10}) {
    EXPECT_EQ(error(data_page({.entries = 5, .encoding = encoding})),
              cat(damaged, "has the encoding ", encoding, ", which is not known", hint));
  }
  EXPECT_EQ(error(page_of(0, {}, 7, Thrift().number(1, 1))), damaged + "is not described" + hint);
  EXPECT_EQ(error(data_page({.body = "abc"}, {.definition_bytes = 2, .repetition_bytes = 2})),
            damaged + "is shorter than its levels" + hint);
  EXPECT_NE(error(Thrift().number(1, 0).number(2, -1).bytes()).find("say -1, which cannot be"), std::string::npos);
}

}  // namespace
}  // namespace millrace
