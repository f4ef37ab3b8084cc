#include "millrace/cli/serve/row_writer.h"

#include "millrace/cli/rows/csv_text.h"

namespace millrace::cli {

namespace {

void append_cell(std::string& out, std::string_view text, const CsvDialect& dialect, size_t column) {
  // A record of one empty field would be a blank line.
  if (text.empty() && dialect.columns == 1) out.append(2, dialect.quote.value_or('"'));
  append_csv_field(out, text, dialect, column == 0);
}

}  // namespace

size_t RowWriter::find(size_t place, std::string_view name) {
  const size_t found = keys_.find(std::string(name));
  if (place >= keys_.keys.size()) return found;
  if (place >= order_.size()) order_.resize(place + 1, RowKeys::kUnknown);
  return order_[place] = found;
}

std::optional<size_t> RowWriter::end(RequestedRows& out) const {
  const CsvDialect& dialect = keys_.dialect;
  out.begins.push_back(out.text.size());
  for (size_t column = 0; column < cells_.size(); ++column) {
    if (given_[column] != rows_) return column;
    const Cell& cell = cells_[column];
    const std::string_view text = std::string_view(texts_).substr(cell.begin, cell.size);
    if (column > 0) out.text += dialect.delimiter;
    if (cell.number) {
      out.text += text;
    } else {
      append_cell(out.text, text, dialect, column);
    }
  }
  out.text += '\n';
  return {};
}

}  // namespace millrace::cli
