#include "millrace/input/csv/header_names.h"

#include <algorithm>
#include <charconv>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/csv/record_scanner.h"

namespace millrace {

namespace {

// Where the header has the name of a column; a name may hold line ends.
Place place_of(uint32_t column, const CsvDialect& dialect) {
  ScannedRecord record;
  if (!RecordScanner(dialect).scan(dialect.first_record, true, record) || record.size() <= column) {
    return {dialect.file, dialect.header_line, 1};
  }
  const Spot spot = spot_of(record.text(), record.start(column));
  return {dialect.file, dialect.header_line + static_cast<int64_t>(spot.lines), spot.column};
}

}  // namespace

HeaderNames::HeaderNames(const Spec& names) {
  if (!names.is_map()) {
    throw names.error(cat("expected a map from columns to names, got ", names.describe()),
                      "write names: {0: \"\", 2: length}");
  }
  for (const auto& [key, spec] : names.entries()) {
    Name name = {.text = spec.as_string(), .spec = spec};
    const char* end = key.data() + key.size();
    const auto [stop, fault] = std::from_chars(key.data(), end, name.column);
    if (fault != std::errc() || stop != end) throw spec.error(cat("expected the index of a column, got ", quote(key)));
    names_.push_back(std::move(name));
  }
}

void HeaderNames::check(const std::vector<uint32_t>& columns, const CsvDialect& dialect) const {
  if (dialect.columns == 0) return;  // nothing will be read
  for (const Name& name : names_) {
    if (std::find(columns.begin(), columns.end(), name.column) == columns.end()) continue;
    if (dialect.header.empty()) {
      throw name.spec.error("the files are read without a header",
                            "set csv_reader: {header: true}, or leave names out");
    }
    const std::string& found = dialect.header[name.column];
    if (found == name.text) continue;
    throw DataError(cat("expected column ", name.column, " to be called ", quote(name.text), ", got ", quote(found)),
                    place_of(name.column, dialect),
                    "this column is selected by its number: it has to stand at the same place in every file");
  }
}

}  // namespace millrace
