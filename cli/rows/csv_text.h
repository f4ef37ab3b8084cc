// CsvText: rows as the text of a CSV file that a CsvLayout describes.
#pragma once

#include <string>
#include <string_view>

#include "millrace/cli/rows/csv_layout.h"
#include "millrace/core/errors.h"
#include "millrace/core/threads/executor.h"
#include "millrace/input/rows/row_block.h"

namespace millrace::cli {

// Appends a field, in quotes if it would be read as something else without them. `first`: it is the first of its line.
void append_csv_field(std::string& out, std::string_view text, const CsvDialect& dialect, bool first);

class CsvText {
 public:
  explicit CsvText(CsvLayout layout);

  // Appends the lines before the first row. Call it once, before append(). Throws DataError if a column's name needs
  // quotes and the dialect has none.
  void append_head(std::string& out);
  // Appends a line for each row of `batch`; `place` says where a row came from. Throws DataError, at that place, for a
  // value that no text would be read as, and for a row too long to be read.
  void append(std::string& out, const RowBlock& batch, FunctionRef<Place(int64_t)> place);

 private:
  // Whether the column holds a number whose text needs neither quotes nor a check.
  bool is_plain(const CsvColumn& column, const RowSpec& rows) const;
  // The texts that the reader of the value takes for a missing value.
  const std::vector<std::string>& missing_of(const CsvValue& value) const;
  // Puts the text of a column into `text_`; false if no text would be read as the row's values.
  bool find_text(size_t column, const RowBlock& batch, int64_t row);
  bool try_text(size_t column, const RowBlock& batch, int64_t row, std::string text, bool exactly);
  bool can_stand(size_t column, std::string_view text) const;
  bool reads_as(std::string_view text, const CsvValue& value, const RowBlock& batch, int64_t row, bool exactly);
  void append_field(std::string& out, size_t column, std::string_view text) const;
  void mark_bytes(std::string& out, size_t begin);
  [[noreturn]] void refuse(size_t column, const RowBlock& batch, int64_t row, const Place& place) const;

  const CsvLayout layout_;
  const bool plain_numbers_;  // every number may be written as it is
  bool begun_ = false;        // something was written
  std::string text_;
  Varying read_;
};

}  // namespace millrace::cli
