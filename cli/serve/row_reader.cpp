#include "millrace/cli/serve/row_reader.h"

namespace millrace::cli {

RowKeys::RowKeys(CsvDialect of_text, std::vector<GivenKey> of_rows, const std::vector<std::string>& unread)
    : dialect(std::move(of_text)), keys(std::move(of_rows)) {
  for (size_t i = 0; i < keys.size(); ++i) places.emplace(keys[i].name, i);
  for (const std::string& name : unread) places.emplace(name, kUnread);
}

RequestedRows RowReader::read(const std::string& body) const {
  RequestedRows out;
  return read_plain_rows(keys_, body, out) ? std::move(out) : read_json_rows(keys_, body);
}

}  // namespace millrace::cli
