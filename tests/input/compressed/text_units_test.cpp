#include "millrace/input/compressed/text_units.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "millrace/input/compressed/inflated_file.h"
#include "tests/input/compressed/source_of_texts.h"

#ifdef MILLRACE_TESTS_COMPRESSED

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::bgzf_of;
using testing_support::compressed_kinds;
using testing_support::error_of;
using testing_support::gzip_of;
using testing_support::numbers_text;
using testing_support::SourceOfTexts;
using testing_support::zstd_of;

class TextUnitsTest : public ::testing::Test {
 protected:
  void use(const std::string& bytes) { source_ = std::make_unique<SourceOfTexts>(std::vector{bytes}); }
  // The units from text offset `begin` on.
  std::vector<Unit> units(uint64_t begin = 0, uint64_t unit_bytes = 1000) {
    TextUnits units(source_->compressed(), source_->text(), {.begin = begin, .unit_bytes = unit_bytes});
    std::vector<Unit> out;
    for (bool goes_on = true; goes_on;) {
      Unit unit;
      unit.file = source_->entry();
      unit.begin = begin;
      goes_on = units.next(unit);
      EXPECT_GE(unit.end, begin);
      begin = unit.end;
      if (unit.end > unit.begin) out.push_back(std::move(unit));
    }
    return out;
  }
  // The text of a unit, as a task gets it.
  std::string text_of(const Unit& unit) {
    const auto& part = static_cast<const TextPart&>(*unit.part);
    std::string out = part.bytes;
    if (!part.in_order) {
      out.resize(static_cast<size_t>(part.range.text_bytes()));
      const InflatedFile file(source_->text(), source_->raw(), part.range);
      out.resize(file.read(part.begin, out.data(), out.size()));
    }
    return out.substr(static_cast<size_t>(unit.begin - part.begin));
  }
  std::string joined(const std::vector<Unit>& all) {
    std::string out;
    for (const Unit& unit : all) out += text_of(unit);
    return out;
  }
  // "0-300 range", "300-900 part" and so on.
  static std::vector<std::string> told(const std::vector<Unit>& all) {
    std::vector<std::string> out;
    for (const Unit& unit : all) {
      const auto& part = static_cast<const TextPart&>(*unit.part);
      out.push_back(cat(unit.begin, '-', unit.end, part.in_order ? " part" : " range"));
    }
    return out;
  }

  std::unique_ptr<SourceOfTexts> source_;
};

TEST_F(TextUnitsTest, AreTheTextOfEveryKindFromAnyPlaceOn) {
  const std::string text = numbers_text(20000);
  for (const auto& [name, compress] : compressed_kinds()) {
    for (const uint64_t unit_bytes : {1u, 1000u, 1000000u}) {
      use(compress(text));
      for (const uint64_t begin : {uint64_t{0}, uint64_t{1}, uint64_t{9999}, uint64_t{text.size()}}) {
        if (unit_bytes == 1 && begin == 0) continue;  // long
        const std::vector<Unit> all = units(unit_bytes == 1 ? text.size() - 500 : begin, unit_bytes);
        EXPECT_EQ(joined(all), text.substr(unit_bytes == 1 ? text.size() - 500 : begin)) << name << ' ' << begin;
      }
      EXPECT_EQ(source_->compressed().end_of(*source_->entry()), text.size()) << name;
      EXPECT_THAT(error_of([&] { units(text.size() + 1); }),
                  HasSubstr(cat("f0: the saved state is at offset ", text.size() + 1)))
          << name;
    }
    use(compress(""));
    if (!source_->files.files["f0"].empty()) {
      EXPECT_EQ(units().size(), 0u) << name;
    }
  }
}

TEST_F(TextUnitsTest, BlocksAndFramesThatTellTheirLengthAreRanges) {
  const std::string text = numbers_text(2000).substr(0, 2000);
  use(bgzf_of(text, 500));
  EXPECT_THAT(told(units()), ElementsAre("0-1000 range", "1000-2000 range"));
  EXPECT_THAT(told(units(1234, 500)), ElementsAre("1234-1500 range", "1500-2000 range"));
  use(zstd_of(text.substr(0, 1500)) + zstd_of(text.substr(1500)));
  EXPECT_THAT(told(units()), ElementsAre("0-1500 range", "1500-2000 range"));
  use(gzip_of(text));
  EXPECT_THAT(told(units()), ElementsAre("0-2000 range")) << "a small file";
}

TEST_F(TextUnitsTest, WhatDoesNotTellComesInOrder) {
  const std::string text(2000, '\n');
  use(gzip_of(text.substr(0, 1500)) + gzip_of(text.substr(1500)));
  EXPECT_THAT(told(units()), ElementsAre("0-1000 part", "1000-2000 part"));
  EXPECT_THAT(told(units()), ElementsAre("0-2000 range")) << "its end is known now";
  use(zstd_of(text.substr(0, 1500)) + zstd_of(text.substr(1500), {.size = false}));
  EXPECT_THAT(told(units()), ElementsAre("0-1500 range", "1500-2000 part"));
}

TEST_F(TextUnitsTest, ALaterPassReadsFromPoints) {
  const std::string text = numbers_text(13 << 20);
  use(gzip_of(text, {}, 1));
  const std::vector<Unit> first = units(0, 1 << 20), second = units(0, 1 << 20);
  EXPECT_EQ(told(first).front(), cat("0-", first.front().end, " part"));
  ASSERT_GE(second.size(), 3u);
  EXPECT_LE(second.size(), 4u);
  for (const Unit& unit : second) EXPECT_TRUE(told({unit}).front().ends_with(" range"));
  EXPECT_EQ(joined(second), text);
  const auto& part = static_cast<const TextPart&>(*second[1].part);
  EXPECT_EQ(part.at_record, text[second[1].begin - 1] == '\n') << "the window has the byte before";
  const std::vector<Unit> middle = units(text.size() / 2, 1 << 20);
  EXPECT_EQ(joined(middle), text.substr(text.size() / 2));
}

TEST_F(TextUnitsTest, GuessesThatARecordBeginsAsBefore) {
  const std::string text = "1,2\n3,4\n5,6\n7,8\n";
  for (const size_t block : {4u, 3u}) {
    use(bgzf_of(text, block));
    const std::vector<Unit> blind = units(0, 1);
    EXPECT_FALSE(static_cast<const TextPart&>(*blind[1].part).at_record) << "nothing is known yet";
    text_of(blind[1]);
#ifdef MILLRACE_HAS_LIBDEFLATE
    EXPECT_EQ(static_cast<const TextPart&>(*units(0, 1)[1].part).at_record, block == 4);
#endif
  }
}

using Part = std::shared_ptr<const TextPart>;

std::shared_ptr<TextInOrder> in_order(SourceOfTexts& source, size_t part_bytes, uint64_t begin = 0,
                                      const std::atomic<bool>* interrupted = nullptr) {
  return std::make_shared<TextInOrder>(
      source.compressed(), source.text(), TextPoint{},
      TextSettings{.begin = begin, .unit_bytes = part_bytes, .interrupted = interrupted});
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
