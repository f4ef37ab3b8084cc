#include "millrace/input/csv/text_index.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace millrace {

namespace {

constexpr uint64_t kLow = 0x0101010101010101u;
constexpr uint64_t kHigh = 0x8080808080808080u;

constexpr uint64_t repeat(char byte) { return kLow * static_cast<unsigned char>(byte); }

// The high bit of every byte of `word` that equals the repeated byte; no other bit. Exact, also above a match.
uint64_t matches(uint64_t word, uint64_t repeated) {
  const uint64_t difference = word ^ repeated;
  return ~(((difference & ~kHigh) + ~kHigh) | difference) & kHigh;
}

uint64_t load(const char* from) {
  uint64_t word;
  std::memcpy(&word, from, sizeof word);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word;
}

// Appends to both lists; the caller has made room for one entry a byte.
struct Writer {
  uint32_t* separator;
  TextIndex::Event* event;
  const uint32_t* first;

  void add(uint32_t position, bool is_separator, bool is_event) {
    if (is_event) *event++ = {position, static_cast<uint32_t>(separator - first)};
    if (is_separator) *separator++ = position;
  }
};

}  // namespace

void TextIndex::reserve(size_t entries) {
  if (separators_.size() < entries) separators_.resize(entries);
  if (events_.size() < entries) events_.resize(entries);
}

void TextIndex::clear() { size_ = separator_count_ = event_count_ = 0; }

void TextIndex::keep(size_t first, size_t last) {
  std::copy(separators_.begin() + static_cast<ptrdiff_t>(first), separators_.begin() + static_cast<ptrdiff_t>(last),
            separators_.begin());
  separator_count_ = last - first;
  event_count_ = 0;
}

void TextIndex::make_room(size_t bytes) {
  const auto grow = [bytes](auto& list, size_t used) {
    if (list.size() < used + bytes) list.resize(std::max(used + bytes, list.size() * 2));
  };
  grow(separators_, separator_count_);
  grow(events_, event_count_);
}

void TextIndex::extend(const char* text, size_t to, const TextMarks& marks) {
  make_room(to - size_ + 1);
  Writer out = {separators_.data() + separator_count_, events_.data() + event_count_, separators_.data()};
  const uint64_t delimiters = repeat(marks.delimiter);
  const uint64_t line_feeds = repeat('\n');
  const char quote = marks.quote.value_or('\n');
  const uint64_t quotes = repeat(quote);
  size_t at = size_;
  for (; at + 8 <= to; at += 8) {
    const uint64_t word = load(text + at);
    const uint64_t events = matches(word, line_feeds) | matches(word, quotes);
    uint64_t any = events | matches(word, delimiters);
    for (; any != 0; any &= any - 1) {
      const uint64_t bit = any & (~any + 1);
      const auto position = static_cast<uint32_t>(at + static_cast<size_t>(std::countr_zero(any)) / 8);
      const bool is_event = (events & bit) != 0;
      out.add(position, !is_event || text[position] == '\n', is_event);
    }
  }
  for (; at < to; ++at) {
    const char c = text[at];
    const bool is_event = c == '\n' || c == quote;
    if (is_event || c == marks.delimiter) out.add(static_cast<uint32_t>(at), !is_event || c == '\n', is_event);
  }
  size_ = to;
  separator_count_ = static_cast<size_t>(out.separator - separators_.data());
  event_count_ = static_cast<size_t>(out.event - events_.data());
}

void TextIndex::finish() {
  make_room(1);
  events_[event_count_++] = {static_cast<uint32_t>(size_), static_cast<uint32_t>(separator_count_)};
  separators_[separator_count_++] = static_cast<uint32_t>(size_);
}

}  // namespace millrace
