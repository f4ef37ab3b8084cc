// CsvLayout: which value of a row stands in which column of a CSV file. The configuration that made the rows reads the
// same values from that file again.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

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
};

// `rows` is what the graph gives; `from` says where the rows come from, as InputGraph::text_columns() does. Every value
// stands in the column that it was read from, under that column's name; fields that later ops made stand after them. If
// the rows do not come from CSV, the fields stand side by side, with a header.
CsvLayout csv_layout(const TextColumns* from, const RowSpec& rows);

}  // namespace millrace::cli
