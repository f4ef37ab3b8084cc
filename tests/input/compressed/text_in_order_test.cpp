#include "millrace/input/compressed/text_in_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/input/compressed/source_of_texts.h"

#ifdef MILLRACE_TESTS_COMPRESSED

namespace millrace {
namespace {

using ::testing::HasSubstr;
using testing_support::after_last_line;
using testing_support::compressed_kinds;
using testing_support::error_of;
using testing_support::gzip_of;
using testing_support::numbers_text;
using testing_support::SourceOfTexts;
using testing_support::zstd_of;

using Part = std::shared_ptr<const TextPart>;

std::shared_ptr<TextInOrder> in_order(SourceOfTexts& source, size_t part_bytes, uint64_t begin = 0,
                                      const std::atomic<bool>* interrupted = nullptr) {
  return std::make_shared<TextInOrder>(
      source.compressed(), source.text(),
      TextInOrder::Settings{
          .begin = begin, .part_bytes = part_bytes, .cut = after_last_line, .interrupted = interrupted});
}

std::vector<Part> all_parts(SourceOfTexts& source, TextInOrder& text) {
  std::vector<Part> out;
  while (const Part part = text.next(*source.raw())) out.push_back(part);
  return out;
}

TEST(TextInOrder, ComesInPartsThatEndWithALine) {
  const std::string text = numbers_text(50000) + "the end";
  for (const auto& [name, compress] : compressed_kinds()) {
    SourceOfTexts source({compress(text)});
    for (const size_t bytes : {1000000u, 4096u, 100u}) {
      const auto parts = all_parts(source, *in_order(source, bytes));
      std::string joined;
      for (size_t i = 0; i < parts.size(); ++i) {
        EXPECT_EQ(parts[i]->begin, joined.size());
        EXPECT_LE(parts[i]->bytes.size(), bytes);
        EXPECT_EQ(parts[i]->bytes.back() == '\n', i + 1 < parts.size()) << name;
        EXPECT_TRUE(parts[i]->at_record);
        joined += parts[i]->bytes;
      }
      EXPECT_EQ(joined, text) << name << ' ' << bytes;
      EXPECT_EQ(source.compressed().end_of(*source.entry()), text.size());
    }
  }
}

TEST(TextInOrder, ALongLineIsCut) {
  const std::string text = "1\n" + std::string(1000, '2') + "\n3\n";
  SourceOfTexts source({gzip_of(text)});
  const auto parts = all_parts(source, *in_order(source, 300));
  ASSERT_GE(parts.size(), 4u);
  EXPECT_EQ(parts[0]->bytes, "1\n");
  EXPECT_EQ(parts[1]->bytes, std::string(300, '2'));
  EXPECT_TRUE(parts[1]->at_record);
  EXPECT_FALSE(parts[2]->at_record);
  EXPECT_EQ(parts.back()->end(), text.size());
}

TEST(TextInOrder, BeginsAnywhere) {
  const std::string text = numbers_text(30000);
  for (const auto& [name, compress] : compressed_kinds()) {
    SourceOfTexts source({compress(text)});
    for (const uint64_t begin : {uint64_t{1}, uint64_t{29000}, uint64_t{text.size()}}) {
      const auto parts = all_parts(source, *in_order(source, 1000, begin));
      std::string joined;
      for (const Part& part : parts) joined += part->bytes;
      EXPECT_EQ(joined, text.substr(begin)) << name;
      if (!parts.empty()) {
        EXPECT_EQ(parts.front()->begin, begin);
      }
    }
    EXPECT_EQ(error_of([&] { all_parts(source, *in_order(source, 1000, text.size() + 1)); }),
              cat("f0: the saved state is at offset ", text.size() + 1, ", but the text ends at ", text.size()))
        << name;
  }
}

TEST(TextInOrder, WhoHasAPartReadsOnAfterIt) {
  const std::string text = numbers_text(20000);
  SourceOfTexts source({gzip_of(text)});
  const auto order = in_order(source, 1000);
  const auto raw = source.raw();
  const auto read = [&](uint64_t at, size_t bytes) {
    std::string out(bytes, ' ');
    size_t done = 0;
    while (const size_t got = done == bytes ? 0 : order->read(at + done, out.data() + done, bytes - done)) done += got;
    out.resize(done);
    return out;
  };
  const Part first = order->next(*raw);
  EXPECT_EQ(read(first->end(), 10), text.substr(first->end(), 10)) << "what no part has yet";
  EXPECT_EQ(read(first->end(), 5000), text.substr(first->end(), 5000)) << "and was not decoded yet";
  const Part second = order->next(*raw), third = order->next(*raw);
  EXPECT_EQ(second->begin, first->end());
  EXPECT_EQ(second->bytes + third->bytes, text.substr(second->begin, second->bytes.size() + third->bytes.size()));
  EXPECT_EQ(read(second->end(), 3000), text.substr(second->end(), 3000)) << "of a part and behind it";
  std::string joined = first->bytes + second->bytes + third->bytes;
  for (const Part& part : all_parts(source, *order)) joined += part->bytes;
  EXPECT_EQ(joined, text) << "nothing is lost";
  EXPECT_EQ(read(text.size(), 10), "");
  EXPECT_EQ(read(text.size() - 5, 10), text.substr(text.size() - 5)) << "what nobody has any more";
}

TEST(TextInOrder, AllTextBeforeAnErrorComesFirst) {
  const std::string text = numbers_text(20000), bytes = zstd_of(text);
  for (const size_t part_bytes : {1000u, 1000000u}) {
    SourceOfTexts source({zstd_of(text.substr(0, 7000)) + bytes.substr(0, bytes.size() / 2)});
    const auto order = in_order(source, part_bytes);
    std::string joined;
    const std::string error = error_of([&] {
      while (const Part part = order->next(*source.raw())) joined += part->bytes;
    });
    EXPECT_EQ(joined.substr(0, 7000), text.substr(0, 7000));
    EXPECT_THAT(error, HasSubstr("f0: the compressed data end too early"));
    char more = 0;
    EXPECT_EQ(error_of([&] { static_cast<void>(order->read(joined.size(), &more, 1)); }), error)
        << "of the last record";
    EXPECT_EQ(error_of([&] { order->next(*source.raw()); }), error) << "and it comes again";
  }
}

TEST(TextInOrder, PartsUseTheMemoryOfThoseBeforeThem) {
  SourceOfTexts source({gzip_of(numbers_text(100000))});
  const auto order = in_order(source, 10000);
  const auto raw = source.raw();
  Part part = order->next(*raw);
  const char* const memory = part->bytes.data();
  part = nullptr;
  part = order->next(*raw);
  EXPECT_EQ(part->bytes.data(), memory);
  const Part other = order->next(*raw);
  EXPECT_NE(other->bytes.data(), memory) << "not of one that somebody has";
}

TEST(TextInOrder, AnInterruptEndsTheWayToItsBeginning) {
  SourceOfTexts source({gzip_of(numbers_text(1000000))});
  const std::atomic<bool> interrupted = true;
  EXPECT_EQ(in_order(source, 1000, 900000, &interrupted)->next(*source.raw()), nullptr);
  EXPECT_NE(in_order(source, 1000, 0, &interrupted)->next(*source.raw()), nullptr) << "no way at all";
}

TEST(TextInOrder, LearnsPointsForLaterPasses) {
  const std::string text = numbers_text(13 << 20);
  SourceOfTexts source({gzip_of(text, {}, 1)});
  all_parts(source, *in_order(source, 262144));
  const TextPoint last = source.text().before(text.size());
  EXPECT_GE(last.text, uint64_t{8} << 20);
  EXPECT_TRUE(last.window);
}

}  // namespace
}  // namespace millrace

#endif
