#include "millrace/cli/serve/row_reader.h"

#include "millrace/cli/rows/csv_text.h"

namespace millrace::cli {

RowKeys::RowKeys(CsvDialect of_text, std::vector<GivenKey> of_rows, const std::vector<std::string>& unread)
    : dialect(std::move(of_text)), keys(std::move(of_rows)) {
  for (size_t i = 0; i < keys.size(); ++i) places.emplace(keys[i].name, i);
  for (const std::string& name : unread) places.emplace(name, kUnread);
}

void append_cell(std::string& out, std::string_view text, const CsvDialect& dialect, size_t column) {
  // A record of one empty field would be a blank line.
  if (text.empty() && dialect.columns == 1) out.append(2, dialect.quote.value_or('"'));
  append_csv_field(out, text, dialect, column == 0);
}

RequestedRows RowReader::read(const std::string& body) const {
  RequestedRows out;
  return read_plain_rows(keys_, body, out) ? std::move(out) : read_json_rows(keys_, body);
}

}  // namespace millrace::cli
