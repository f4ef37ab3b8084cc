// CsvLayout: which value of a row stands in which column of a CSV file, so that the configuration which made the rows
// reads the same values from that file again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "millrace/core/spec.h"
#include "millrace/input/graph/row_block.h"

namespace millrace::cli {

struct CsvColumn {
  std::string name;
  // Value `element` of field `field`; field < 0: a column that nobody reads, left empty.
  int field = -1;
  int64_t element = 0;
};

struct CsvLayout {
  std::vector<CsvColumn> columns;
  char delimiter = ',';
  std::optional<char> quote = '"';
  bool header = true;
  int64_t skip_lines = 0;  // lines before the header or the first row that the reader passes over
};

// `input` is InputGraph::resolved(), `rows` what the graph gives. Where the graph has one csv_reader and one decode_csv
// every field stands in the columns that decode_csv takes it from, under their names where it asks for names.
// Otherwise the fields stand side by side, with a header.
CsvLayout csv_layout(const Spec& input, const RowSpec& rows);

// The lines before the first row.
std::string csv_head(const CsvLayout& layout);
// Appends a line for each row of `batch`.
void append_csv(std::string& out, const CsvLayout& layout, const RowBlock& batch);

}  // namespace millrace::cli
