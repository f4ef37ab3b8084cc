// ColumnReader: reads a column row by row, from any row on, as numbers of the field's type or into rows. One task uses
// it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "millrace/input/parquet/column_pages.h"
#include "millrace/input/parquet/list_rows.h"
#include "millrace/input/parquet/row_faults.h"
#include "millrace/input/rows/row_block.h"

namespace millrace {

struct ReaderScratch : PageReadScratch {
  alignas(64) std::array<std::byte, 8 * kValuesAtOnce> numbers;  // of lists
  std::vector<RowFault> bad;                                     // of these numbers: `row` is the number of one
  RowFaults faults;
  VaryingLimit varying;
};

class ColumnReader {
 public:
  // Begins at row `row` of the row group.
  ColumnReader(std::shared_ptr<ColumnPages> pages, uint64_t row) : pages_(std::move(pages)), row_(row) {}

  // The column is no list and its field has numbers: the next `count` rows, one number after another. `row` is the
  // first row's number in the chunk, for faults.
  void read_numbers(size_t count, std::byte* to, int64_t row, ReaderScratch& scratch);
  // Otherwise: adds to the field's values in the next `count` rows, from row `row` of the block on.
  void read_varying(size_t count, RowBlock& rows, int64_t row, ReaderScratch& scratch);
  // Says that what was read is done. Called once, last.
  void finish();

 private:
  const FieldColumn& column() const { return pages_->column(); }
  size_t begin_rows(size_t count, ReaderScratch& scratch);
  void end_rows(size_t count);
  template <class Word>
  void read_block(size_t count, Word* to, int64_t row, ReaderScratch& scratch);
  template <class Word>
  void decode(size_t count, Word* to, ReaderScratch& scratch);
  void read_texts(size_t count, RowBlock& rows, int64_t row, ReaderScratch& scratch);
  void read_lists(size_t count, RowBlock& rows, int64_t row, ReaderScratch& scratch);
  void read_entries(size_t count, ListRows& lists, ReaderScratch& scratch);

  const std::shared_ptr<ColumnPages> pages_;
  uint64_t row_;
  uint64_t rows_read_ = 0;  // since the spot's page was entered
  ColumnPages::Spot spot_;
};

}  // namespace millrace
