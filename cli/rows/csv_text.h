// Rows as the text of a CSV file. CsvLayout: which value of a row stands in which column. CsvText: writes the rows. The
// configuration that made the rows reads the same values from that file again.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/core/context.h"
#include "millrace/core/errors.h"
#include "millrace/input/csv/csv_dialect.h"
#include "millrace/input/rows/row_block.h"

namespace millrace::cli {

// A value of a row that stands in a column.
struct CsvValue {
  size_t field = 0;
  size_t element = 0;
  // If set, all values of the field stand in the column, with this byte between them.
  std::optional<char> split = {};
  // The decoder's field that reads the value from the column; none if an op after the decoder makes the value, or
  // changes its type.
  std::optional<size_t> read_by = {};
  bool time = false;  // a number that the layout's reader reads from, and writes as, the text of a date or time
};

struct CsvColumn {
  std::string name = {};
  // The values that are read from the column, the one with the most exact text first. If there are none, the column is
  // left empty.
  std::vector<CsvValue> values = {};
};

struct CsvLayout {
  std::vector<CsvColumn> columns;
  CsvDialect dialect;
  bool header = true;
  std::shared_ptr<const TextReader> reader = nullptr;  // null if the rows were not decoded from CSV
  // Whether a list has to be read back whole. Otherwise it may lack the empty texts at its end, which `pad` adds again.
  bool whole_lists = false;
  std::string_view way_out = "write --format jsonl";  // the hint of an error about what no text can hold
};

// `rows` is what the graph gives; `from` says where the rows come from, as InputGraph::text_columns() does. Every value
// stands in the column that it was read from, under that column's name; fields that later ops made stand after them. If
// the rows do not come from CSV, the fields stand side by side, with a header.
CsvLayout csv_layout(const TextColumns* from, const RowSpec& rows);

// Takes `name`, or if it is taken, the name with as many _ at its end as it needs.
std::string free_name(std::set<std::string>& taken, std::string name);

// Appends a field, in quotes if it would be read as something else without them. `first`: it is the first of its line.
void append_csv_field(std::string& out, std::string_view text, const CsvDialect& dialect, bool first);

class CsvText {
 public:
  explicit CsvText(CsvLayout layout);

  // Appends the lines before the first row. Call it once, before append(). Throws DataError if a column's name needs
  // quotes and the dialect has none.
  void append_head(std::string& out);
  // Appends a line for each of `rows`; `place` says where a row of their block came from. Throws DataError, at that
  // place, for a value that no text would be read as, and for a row too long to be read.
  void append(std::string& out, const RowSpan& rows, FunctionRef<Place(int64_t)> place);
  // The same for all rows of `batch`.
  void append(std::string& out, const RowBlock& batch, FunctionRef<Place(int64_t)> place) {
    append(out, RowSpan{&batch, 0, batch.size()}, place);
  }

 private:
  // Whether the column holds a number whose text needs neither quotes nor a check.
  bool is_plain(const CsvColumn& column, const RowSpec& rows) const;
  // The texts that the reader of the value takes for a missing value.
  const std::vector<std::string>& missing_of(const CsvValue& value) const;
  // Appends the text of a value, or of all values of its field if they share the column.
  void append_text(std::string& out, const CsvValue& value, const RowBlock& batch, int64_t row) const;
  std::string text_of(const CsvValue& value, const RowBlock& batch, int64_t row) const;
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
