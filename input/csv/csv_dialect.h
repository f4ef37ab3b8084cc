// CsvDialect: how text is cut into records and fields.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/input/op.h"

namespace millrace {

struct CsvDialect final : TextFormat {
  std::string_view name() const override { return "CSV"; }
  int64_t nameless_fields() const override { return header.empty() ? columns : 0; }

  char delimiter = ',';
  std::optional<char> quote = '"';
  std::optional<char> comment;  // a record that starts with it is skipped
  bool skip_blank_lines = true;
  int64_t skip_lines = 0;  // at the start of every file, before its header
  // How many fields every record has: as many as the header, or as the first file's first record; 0 if there is no
  // record at all.
  int64_t columns = 0;
  std::vector<std::string> header;  // empty without a header
  // The bytes of the header, or of the record whose fields were counted, and the path of its file; for messages.
  std::string first_record;
  std::string file;
  int64_t header_line = 0;  // of `file`, from 1; 0 without a header

  bool operator==(const CsvDialect&) const = default;
};

}  // namespace millrace
