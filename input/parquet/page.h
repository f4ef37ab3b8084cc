// Page: a data page of a column, decompressed: its levels, and its values. Constant; any thread may read it. A
// PageCursor is where one reader stands, and a copy of it goes on from the same place.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "millrace/input/parquet/page_values.h"

namespace millrace {

struct PageCursor {
  uint64_t row = 0;  // of the row group: the one that begins here, or of which the page begins with the rest, plus 1
  uint32_t entries = 0;  // levels that were passed
  BitRuns repetition = {}, definition = {};
  ValueCursor values = {};
};

struct PageScratch {
  ValueScratch values;
  std::array<uint8_t, kValuesAtOnce> repetition, definition;
};

class Page {
 public:
  // Throws DataError, without a place, if it is no such page. `bytes` is the page, decompressed.
  Page(const ParquetColumn& column, const PageHeader& header, PageBytes bytes,
       std::shared_ptr<const Dictionary> dictionary);

  uint32_t entries() const { return header_.entries; }
  const PageValues& values() const { return values_; }
  PageCursor begin(uint64_t row) const;

  // Whether its first entry goes on with a row of the page before.
  bool begins_within_row() const;
  // How many rows begin in it. All levels of a list are read for that.
  uint64_t count_rows() const;
  // Goes on to where the row `rows` after the cursor's begins, or to the end of the page.
  void pass_rows(PageCursor& at, uint64_t rows, PageScratch& scratch) const;

  // The next `count` levels, at most kValuesAtOnce.
  // Whether an entry begins a row (0) or goes on with it; the cursor stays.
  const uint8_t* peek_repetition(const PageCursor& at, size_t count, PageScratch& scratch) const;
  // Passes them, and returns how many of them have a value, which come next in `at.values`. If not all or none have
  // one, their levels are in scratch.definition.
  size_t take_levels(PageCursor& at, size_t count, PageScratch& scratch) const;

 private:
  std::span<const std::byte> take(std::span<const std::byte>& rest, size_t bytes) const;
  std::span<const std::byte> take_sized(std::span<const std::byte>& rest) const;

  const PageHeader header_;
  const PageBytes bytes_;
  const uint8_t most_definition_;
  const bool is_list_;
  std::span<const std::byte> repetition_, definition_;
  PageValues values_;
};

}  // namespace millrace
