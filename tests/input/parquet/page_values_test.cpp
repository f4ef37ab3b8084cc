#include "millrace/input/parquet/page_values.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/input/op_testing.h"
#include "tests/input/parquet/parquet_bytes.h"

namespace millrace {
namespace {

using testing_support::bytes_of_numbers;
using testing_support::delta_of;
using testing_support::error_of;
using testing_support::packed_bits;
using testing_support::packed_run;
using testing_support::plain_texts;
using testing_support::sized;

class PageValuesTest : public ::testing::Test {
 protected:
  struct Kind {
    StoredType stored;
    uint32_t width;
    PageEncoding encoding;
  };
  PageValues values(const Kind& kind, const std::string& bytes, std::shared_ptr<const Dictionary> dictionary = nullptr,
                    uint64_t most = 1000) {
    bytes_ = bytes + std::string(kPageSlack, '\x33');
    const ParquetColumn column{.name = "a", .stored = kind.stored, .width = kind.width};
    return {column,
            kind.encoding,
            {reinterpret_cast<const std::byte*>(bytes_.data()), bytes.size()},
            std::move(dictionary),
            most};
  }
  // All values as their stored bytes, read in pieces after `skipped` others.
  std::string fixed(const PageValues& from, size_t count, size_t width, size_t skipped, size_t piece) {
    ValueCursor at = from.begin();
    from.skip(at, skipped, *scratch_);
    std::string out;
    while (count > 0) {
      const size_t some = std::min(piece, count);
      out.append(reinterpret_cast<const char*>(from.fixed(at, some, *scratch_)), some * width);
      count -= some;
    }
    return out;
  }
  std::vector<std::string> texts(const PageValues& from, size_t count, size_t skipped, size_t piece) {
    ValueCursor at = from.begin();
    from.skip(at, skipped, *scratch_);
    std::vector<std::string> out;
    for (size_t done = 0; done < count; done += piece) {
      from.texts(at, std::min(piece, count - done), *scratch_, [&](std::string_view text) { out.emplace_back(text); });
    }
    return out;
  }
  // The same, from every place on.
  void expect_fixed(const Kind& kind, const std::string& bytes, const std::string& plain, size_t width) {
    const PageValues from = values(kind, bytes);
    const size_t count = plain.size() / width;
    for (size_t skipped = 0; skipped <= count; ++skipped) {
      for (const size_t piece : {size_t{1}, size_t{7}, kValuesAtOnce}) {
        EXPECT_EQ(fixed(from, count - skipped, width, skipped, piece), plain.substr(skipped * width))
            << skipped << ' ' << piece;
      }
    }
    EXPECT_NE(error_of([&] { fixed(from, count + 100, width, 0, 1); }).find("a page has fewer values than it says"),
              std::string::npos);
  }
  void expect_texts(const Kind& kind, const std::string& bytes, const std::vector<std::string>& all) {
    const PageValues from = values(kind, bytes);
    for (size_t skipped = 0; skipped <= all.size(); ++skipped) {
      for (const size_t piece : {size_t{1}, size_t{3}, kValuesAtOnce}) {
        EXPECT_EQ(texts(from, all.size() - skipped, skipped, piece),
                  std::vector<std::string>(all.begin() + static_cast<ptrdiff_t>(skipped), all.end()));
      }
    }
    EXPECT_NE(error_of([&] { texts(from, all.size() + 1, 0, 1); }).find("a page has fewer values than it says"),
              std::string::npos);
  }

  std::string bytes_;
  const std::unique_ptr<ValueScratch> scratch_ = std::make_unique<ValueScratch>();
};

// The first bytes of all values, then all second ones.
std::string streams(const std::string& plain, size_t width) {
  std::string out;
  for (size_t k = 0; k < width; ++k) {
    for (size_t i = k; i < plain.size(); i += width) out += plain[i];
  }
  return out;
}

TEST_F(PageValuesTest, ReadsNumbersInEveryEncodingFromEveryPlaceOn) {
  std::vector<int32_t> narrow;
  std::vector<int64_t> wide;
  for (int i = 0; i < 40; ++i) {
    narrow.push_back(i * i * 1000003 - 77);
    wide.push_back(int64_t{i} * i * 100000000003 - 5);
  }
  const std::string four = bytes_of_numbers(narrow), eight = bytes_of_numbers(wide);
  expect_fixed({StoredType::int32, 4, PageEncoding::plain}, four, four, 4);
  expect_fixed({StoredType::int64, 8, PageEncoding::plain}, eight, eight, 8);
  expect_fixed({StoredType::int96, 12, PageEncoding::plain}, eight.substr(0, 240), eight.substr(0, 240), 12);
  expect_fixed({StoredType::float32, 4, PageEncoding::byte_stream_split}, streams(four, 4), four, 4);
  expect_fixed({StoredType::float64, 8, PageEncoding::byte_stream_split}, streams(eight, 8), eight, 8);
  expect_fixed({StoredType::fixed, 2, PageEncoding::byte_stream_split}, streams(four, 2), four, 2);
  expect_fixed({StoredType::fixed, 5, PageEncoding::byte_stream_split}, streams(four, 5), four, 5);
  expect_fixed({StoredType::int32, 4, PageEncoding::delta_binary_packed}, delta_of({narrow.begin(), narrow.end()}),
               four, 4);
  expect_fixed({StoredType::int64, 8, PageEncoding::delta_binary_packed}, delta_of(wide), eight, 8);
}

TEST_F(PageValuesTest, ReadsBooleansAsBytes) {
  std::vector<uint64_t> bits;
  std::string bytes;
  for (int i = 0; i < 48; ++i) {
    bits.push_back(i % 3 == 0 ? 1 : 0);
    bytes += static_cast<char>(bits.back());
  }
  expect_fixed({StoredType::boolean, 0, PageEncoding::plain}, packed_bits(bits, 1), bytes, 1);
  expect_fixed({StoredType::boolean, 0, PageEncoding::rle}, sized(packed_run(bits, 1)), bytes, 1);
}

TEST_F(PageValuesTest, ReadsTextsInEveryEncodingFromEveryPlaceOn) {
  const std::vector<std::string> all = {"", "axis", "axle", "babble", "babbling", "babbling", "x", "", "last"};
  std::vector<int64_t> lengths, prefixes, rests;
  std::string joined, suffixes, before;
  for (const std::string& text : all) {
    lengths.push_back(static_cast<int64_t>(text.size()));
    joined += text;
    size_t same = 0;
    while (same < std::min(text.size(), before.size()) && text[same] == before[same]) ++same;
    prefixes.push_back(static_cast<int64_t>(same));
    rests.push_back(static_cast<int64_t>(text.size() - same));
    suffixes += text.substr(same);
    before = text;
  }
  const auto kind = [](PageEncoding encoding) { return Kind{StoredType::bytes, 0, encoding}; };
  expect_texts(kind(PageEncoding::plain), plain_texts(all), all);
  expect_texts(kind(PageEncoding::delta_length_byte_array), delta_of(lengths) + joined, all);
  expect_texts(kind(PageEncoding::delta_byte_array), delta_of(prefixes) + delta_of(rests) + suffixes, all);
  expect_texts({StoredType::fixed, 3, PageEncoding::plain}, "abcdefghi", {"abc", "def", "ghi"});
  expect_texts({StoredType::fixed, 3, PageEncoding::delta_byte_array},
               delta_of({0, 2, 0}) + delta_of({3, 1, 3}) + "abcdxyz", {"abc", "abd", "xyz"});
}

TEST_F(PageValuesTest, ReadsNumbersOfDictionaryEntries) {
  auto dictionary = std::make_shared<Dictionary>();
  dictionary->size = 3;
  dictionary->texts = {"red", "green", "blue"};
  const std::string runs = "\x02" + packed_run({2, 0, 1, 1, 0, 2, 2, 0}, 2);
  PageValues from = values({StoredType::bytes, 0, PageEncoding::rle_dictionary}, runs, dictionary);
  EXPECT_EQ(texts(from, 5, 3, 2), (std::vector<std::string>{"green", "red", "blue", "blue", "red"}));
  from = values({StoredType::bytes, 0, PageEncoding::plain_dictionary}, "\x02" + packed_run({0, 3}, 2), dictionary);
  EXPECT_EQ(texts(from, 1, 0, 1), (std::vector<std::string>{"red"}));
  const std::string beyond = "refers to a value that its dictionary lacks";
  EXPECT_NE(error_of([&] { texts(from, 2, 0, 2); }).find(beyond), std::string::npos);
  for (const uint32_t number : {0x7fffffffu, 0x80000000u, 0x80000002u, 0x80000003u, 0xfffffffdu, 0xffffffffu}) {
    from =
        values({StoredType::bytes, 0, PageEncoding::rle_dictionary}, " " + packed_run({0, number, 0}, 32), dictionary);
    EXPECT_NE(error_of([&] { texts(from, 3, 0, 3); }).find(beyond), std::string::npos) << number;
  }
  EXPECT_NE(error_of([&] {
              values({StoredType::bytes, 0, PageEncoding::rle_dictionary}, runs);
            }).find("refers to a dictionary that is missing"),
            std::string::npos);
  // A page without values may be empty.
  EXPECT_EQ(texts(values({StoredType::bytes, 0, PageEncoding::rle_dictionary}, "", dictionary), 0, 0, 1).size(), 0u);
}

TEST_F(PageValuesTest, RefusesWhatCannotBe) {
  const auto error = [&](const Kind& kind, const std::string& bytes) {
    return error_of([&] { texts(values(kind, bytes), 2, 0, 2); });
  };
  const auto delta = [](PageEncoding encoding) { return Kind{StoredType::bytes, 0, encoding}; };
  EXPECT_NE(error(delta(PageEncoding::plain), plain_texts({"a"}) + "\xff\xff\xff\xff").find("fewer values"),
            std::string::npos);
  EXPECT_NE(error(delta(PageEncoding::delta_length_byte_array), delta_of({1, -1}) + "abc").find("negative length"),
            std::string::npos);
  EXPECT_NE(error(delta(PageEncoding::delta_byte_array), delta_of({0, 2}) + delta_of({1, 1}) + "ab")
                .find("begins as no other"),
            std::string::npos);
  EXPECT_NE(error(delta(PageEncoding::delta_byte_array), delta_of({0, -1}) + delta_of({1, 1}) + "ab")
                .find("begins as no other"),
            std::string::npos);
  const std::string lengths = delta_of({1, 1, 1}), some = delta_of({0, 0});
  const auto begins = [&](PageEncoding encoding, const std::string& bytes, uint64_t most) {
    return error_of([&] { values(delta(encoding), bytes, nullptr, most).begin(); });
  };
  EXPECT_EQ(begins(PageEncoding::delta_length_byte_array, lengths + "abc", 3), "no error");
  EXPECT_NE(begins(PageEncoding::delta_length_byte_array, lengths + "abc", 2).find("more values"), std::string::npos);
  EXPECT_NE(begins(PageEncoding::delta_byte_array, lengths + some + "ab", 2).find("more values"), std::string::npos);
  EXPECT_NE(begins(PageEncoding::delta_byte_array, some + lengths + "abc", 2).find("more values"), std::string::npos);
  EXPECT_EQ(
      error_of([&] {
        values({StoredType::float32, 4, PageEncoding::delta_binary_packed}, "");
      }),
      "the Parquet file is damaged: a page has float32 in the encoding 5; was it copied or downloaded as a whole?");
  EXPECT_NE(error_of([&] {
              const PageValues from = values({StoredType::fixed, 3, PageEncoding::delta_byte_array},
                                             delta_of({0, 0}) + delta_of({3, 2}) + "abcde");
              fixed(from, 2, 3, 0, 2);
            }).find("a value of another length"),
            std::string::npos);
}

}  // namespace
}  // namespace millrace
