// CsvLayout: which value of a row stands in which column of a CSV file, so that the configuration which made the rows
// reads the same values from that file again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/input/csv/csv_dialect.h"
#include "millrace/input/graph/row_block.h"

namespace millrace::cli {

struct CsvColumn {
  std::string name = {};
  // Value `element` of field `field`; field < 0: a column that nobody reads, left empty.
  int field = -1;
  int64_t element = 0;
};

struct CsvLayout {
  std::vector<CsvColumn> columns;
  CsvDialect dialect;
  bool header = true;
};

// `rows` is what the graph gives and `from` where they come from, InputGraph::text_columns(). Every value stands in the
// column that it was read from, under that column's name. Where it was read from none, or from
// no CSV, the fields stand side by side,
// with a header.
CsvLayout csv_layout(const TextColumns* from, const RowSpec& rows);

// Appends a field; `first` of its line. It is quoted where it would be read as something else.
void append_csv_field(std::string& out, std::string_view text, const CsvDialect& dialect, bool first);

// The lines before the first row.
std::string csv_head(const CsvLayout& layout);
// Appends a line for each row of `batch`.
void append_csv(std::string& out, const CsvLayout& layout, const RowBlock& batch);

}  // namespace millrace::cli
