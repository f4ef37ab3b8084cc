#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "millrace/core/text.h"
#include "millrace/input/csv/kernels/kernels.h"
#include "tests/input/csv/kernels/guarded_text.h"

namespace millrace {
namespace {

using testing_support::GuardedText;

struct Marks {
  std::vector<uint32_t> separators;
  std::vector<std::pair<uint32_t, uint32_t>> events;
  bool operator==(const Marks&) const = default;
};

Marks plain_marks(const std::string& text, size_t from, const TextMarks& marks) {
  Marks out;
  for (size_t at = from; at < text.size(); ++at) {
    if (text[at] == '\n' || text[at] == marks.quote) {
      out.events.emplace_back(static_cast<uint32_t>(at), static_cast<uint32_t>(5 + out.separators.size()));
    }
    if (text[at] == '\n' || text[at] == marks.delimiter) out.separators.push_back(static_cast<uint32_t>(at));
  }
  return out;
}

Marks found_marks(IndexFunction* index, const char* text, size_t from, size_t to, const TextMarks& marks) {
  const size_t room = to - from + kSpareEntries;
  std::vector<uint32_t> separators(room);
  std::vector<TextIndex::Event> events(room);
  const IndexEnd end = index(text, from, to, marks, {separators.data(), events.data(), 5});
  Marks out;
  out.separators.assign(separators.data(), end.separators);
  EXPECT_EQ(end.separator_count, 5 + out.separators.size());
  for (const TextIndex::Event* event = events.data(); event != end.events; ++event) {
    out.events.emplace_back(event->position, event->separators);
  }
  return out;
}

// Texts of every length up to 300, with few marks or with nothing else.
void check_index(IndexFunction* index) {
  std::mt19937_64 random(5);
  GuardedText guarded;
  const std::vector<TextMarks> all = {{',', '"'}, {';', std::nullopt}, {'\t', '\''}, {'\xff', '\x80'}};
  for (size_t size = 0; size <= 300; ++size) {
    for (const TextMarks& marks : all) {
      std::string text(size, 'x');
      const uint64_t rarely = 1 + random() % 12;
      for (char& c : text) {
        if (random() % rarely == 0)
          c = std::string{marks.delimiter, '\n', marks.quote.value_or('"'), ','}[random() % 4];
      }
      const size_t from = size == 0 ? 0 : random() % size;
      const Marks expected = plain_marks(text, from, marks);
      ASSERT_EQ(found_marks(index, guarded.at_the_start(text), from, size, marks), expected) << quote(text);
      ASSERT_EQ(found_marks(index, guarded.at_the_end(text), from, size, marks), expected) << quote(text);
    }
  }
}

TEST(Index, FindsMarksInWords) { check_index(index_words); }

TEST(Index, FindsMarksAtEveryLevel) {
  for (const ProcessorLevel level : {ProcessorLevel::scalar, ProcessorLevel::avx2, ProcessorLevel::avx512}) {
    SCOPED_TRACE(to_string(level));
    if (const CsvKernels* kernels = csv_kernels(level)) check_index(kernels->index);
  }
}

}  // namespace
}  // namespace millrace
