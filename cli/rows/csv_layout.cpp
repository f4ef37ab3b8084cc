#include "millrace/cli/rows/csv_text.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>

#include "millrace/core/text.h"

namespace millrace::cli {

namespace {

// A ragged field is one column, however many values it has.
int64_t columns_of(const FieldSpec& field) { return field.ragged() ? 1 : field.shape.elements(); }

// Adds columns for a field that was not read from columns. Each gets a name of its own, so that it can be selected by
// name.
void append_field(std::vector<CsvColumn>& out, std::set<std::string>& taken, const RowSpec& rows, size_t field) {
  const FieldSpec& spec = rows.fields[field];
  for (int64_t i = 0; i < columns_of(spec); ++i) {
    std::string name = free_name(taken, columns_of(spec) == 1 ? spec.name : cat(spec.name, '_', i));
    out.push_back({std::move(name), {{.field = field, .element = static_cast<size_t>(i), .split = spec.split}}});
  }
}

// The order of the fields that share a column: the text of the field with the highest precision is most likely to be
// read back by the others. Whole numbers have no exponent, wider types have more digits, and texts lose nothing.
int precision(const FieldSpec& field) {
  if (field.text) return field.ragged() ? 5 : 6;
  constexpr DType kRising[] = {DType::f32, DType::f64, DType::i32, DType::i64, DType::u8};
  return static_cast<int>(std::ranges::find(kRising, field.dtype) - kRising);
}

bool is_same_type(const FieldSpec& a, const FieldSpec& b) { return a.text == b.text && a.dtype == b.dtype; }

// Puts the values of `field` into the columns that they were read from; false if these are not known.
bool place_field(std::vector<CsvColumn>& out, const TextColumns& from, const RowSpec& rows, size_t field) {
  const FieldSpec& spec = rows.fields[field];
  const int found = from.rows.find(spec.name);
  if (found < 0) return false;
  const auto decoded = static_cast<size_t>(found);
  // A field that `pad` gave a fixed length was still read as a list from one column.
  const std::optional<char> split = from.rows.fields[decoded].split;
  const std::vector<uint32_t>& columns = from.columns[decoded];
  if (!split && std::ssize(columns) != columns_of(spec)) return false;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i] >= out.size()) out.resize(columns[i] + size_t{1});
    std::vector<CsvValue>& values = out[columns[i]].values;
    const auto less = [&](const CsvValue& other) { return precision(rows.fields[other.field]) < precision(spec); };
    CsvValue value = {.field = field, .element = i, .split = split};
    if (is_same_type(spec, from.rows.fields[decoded])) value.read_by = decoded;
    value.time = value.read_by && from.reader != nullptr && !from.reader->text_of(decoded, 0).empty();
    values.insert(std::ranges::find_if(values, less), value);
  }
  return true;
}

}  // namespace

std::string free_name(std::set<std::string>& taken, std::string name) {
  while (!taken.insert(name).second) name += '_';
  return name;
}

CsvLayout csv_layout(const TextColumns* from, const RowSpec& rows) {
  CsvLayout layout;
  std::vector<size_t> others;
  const auto* dialect = from == nullptr ? nullptr : dynamic_cast<const CsvDialect*>(from->format.get());
  for (size_t field = 0; field < rows.fields.size(); ++field) {
    if (dialect == nullptr || !place_field(layout.columns, *from, rows, field)) others.push_back(field);
  }
  if (!layout.columns.empty()) {
    layout.dialect = *dialect;
    layout.header = !dialect->header.empty();
    layout.reader = from->reader;
    // An empty line would not be read as a record.
    if (!dialect->quote && layout.columns.size() == 1 && dialect->columns > 1) layout.columns.resize(2);
    const size_t names = std::min(dialect->header.size(), layout.columns.size());
    for (size_t i = 0; i < names; ++i) layout.columns[i].name = dialect->header[i];
  }
  std::set<std::string> taken;
  for (const CsvColumn& column : layout.columns) taken.insert(column.name);
  for (const size_t field : others) append_field(layout.columns, taken, rows, field);
  return layout;
}

}  // namespace millrace::cli
