// CsvLayout: which value of a row stands in which column of a CSV file, so that the configuration which made the rows
// reads the same values from that file again.
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
  // In the column stand all values of the field, with this byte between them.
  std::optional<char> split = {};
  // Which of the decoder's fields reads it from there; none for what is made later.
  std::optional<size_t> read_by = {};
};

struct CsvColumn {
  std::string name = {};
  // What is read from the column, that whose text says most first; none: nobody reads it, and it is left empty.
  std::vector<CsvValue> values = {};
};

struct CsvLayout {
  std::vector<CsvColumn> columns;
  CsvDialect dialect;
  bool header = true;
  std::shared_ptr<const TextReader> reader = nullptr;  // none where the rows were not decoded
};

// `rows` is what the graph gives and `from` where they come from, InputGraph::text_columns(). Every value stands in the
// column that it was read from, under that column's name; fields that were made later stand behind them. Where the rows
// come from no CSV, the fields stand side by side, with a header.
CsvLayout csv_layout(const TextColumns* from, const RowSpec& rows);

}  // namespace millrace::cli
