#include "millrace/input/parquet/page.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "millrace/input/parquet/thrift_reader.h"

namespace millrace {

Page::Page(const ParquetColumn& column, const PageHeader& header, PageBytes bytes,
           std::shared_ptr<const Dictionary> dictionary)
    : header_(header), bytes_(std::move(bytes)), most_definition_(column.most_definition), is_list_(column.is_list) {
  std::span<const std::byte> rest(bytes_.data(), header.bytes);
  if (header.second_version) {
    repetition_ = take(rest, header.repetition_bytes);
    definition_ = take(rest, header.definition_bytes);
  } else {
    if ((is_list_ && header.old_repetition) || (most_definition_ > 0 && header.old_definition)) {
      throw damaged_parquet("a page has levels in an encoding that is no longer in use");
    }
    if (is_list_) repetition_ = take_sized(rest);
    if (most_definition_ > 0) definition_ = take_sized(rest);
  }
  values_ = PageValues(column, header.encoding, rest, std::move(dictionary), header.entries);
}

std::span<const std::byte> Page::take(std::span<const std::byte>& rest, size_t bytes) const {
  if (bytes > rest.size()) throw damaged_parquet("a page is shorter than its levels");
  const auto out = rest.first(bytes);
  rest = rest.subspan(bytes);
  return out;
}

// A length, and so many bytes.
std::span<const std::byte> Page::take_sized(std::span<const std::byte>& rest) const {
  uint32_t size = 0;
  std::memcpy(&size, take(rest, sizeof size).data(), sizeof size);
  return take(rest, size);
}

PageCursor Page::begin(uint64_t row) const {
  return {.row = row,
          .repetition = is_list_ ? BitRuns(repetition_, 1) : BitRuns(),
          .definition = most_definition_ > 0 ? BitRuns(definition_, std::bit_width(most_definition_), most_definition_)
                                             : BitRuns(),
          .values = values_.begin()};
}

bool Page::begins_within_row() const {
  return is_list_ && header_.entries > 0 && BitRuns(repetition_, 1).skip_counting(1, 1) == 1;
}

uint64_t Page::count_rows() const {
  return is_list_ ? BitRuns(repetition_, 1).skip_counting(header_.entries, 0) : header_.entries;
}

void Page::pass_rows(PageCursor& at, uint64_t rows, PageScratch& scratch) const {
  const auto pass = [&](size_t entries) {
    at.entries += static_cast<uint32_t>(entries);
    if (is_list_) at.repetition.skip(entries);
    const size_t there = most_definition_ > 0 ? at.definition.skip_counting(entries, most_definition_) : entries;
    values_.skip(at.values, there, scratch.values);
  };
  at.row += rows;
  if (!is_list_) {
    if (rows > header_.entries - at.entries) throw damaged_parquet("a page has fewer values than it says");
    return pass(static_cast<size_t>(rows));
  }
  while (at.entries < header_.entries) {
    const size_t some = std::min<size_t>(header_.entries - at.entries, kValuesAtOnce);
    const uint8_t* const repetition = peek_repetition(at, some, scratch);
    size_t i = 0;
    for (; i < some; ++i) {
      if (repetition[i] != 0) continue;
      if (rows == 0) break;
      --rows;
    }
    pass(i);
    if (i < some) return;
  }
}

const uint8_t* Page::peek_repetition(const PageCursor& at, size_t count, PageScratch& scratch) const {
  BitRuns(at.repetition).read(scratch.repetition.data(), count);
  return scratch.repetition.data();
}

size_t Page::take_levels(PageCursor& at, size_t count, PageScratch& scratch) const {
  at.entries += static_cast<uint32_t>(count);
  if (is_list_) at.repetition.skip(count);
  if (most_definition_ == 0) return count;
  uint8_t* const levels = scratch.definition.data();
  if (const std::optional<uint32_t> all = at.definition.repeated(count)) {
    at.definition.skip(count);
    if (*all == most_definition_) return count;
    std::fill_n(levels, count, static_cast<uint8_t>(*all));
    return 0;
  }
  at.definition.read(levels, count);
  return static_cast<size_t>(std::count(levels, levels + count, most_definition_));
}

}  // namespace millrace
