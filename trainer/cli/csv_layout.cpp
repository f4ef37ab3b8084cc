#include "millrace/trainer/cli/csv_layout.h"

#include <algorithm>

#include "millrace/core/text.h"
#include "millrace/trainer/cli/field_values.h"
#include "millrace/trainer/cli/number_format.h"

namespace millrace::cli {

namespace {

// What the texts of numbers are made of: digits, exponents, nan and inf.
constexpr std::string_view kNumberBytes = "0123456789+-.einfa";

// A ragged field is one column, however many values it has.
int64_t columns_of(const FieldSpec& field) { return field.ragged() ? 1 : field.shape.elements(); }

std::string element_name(const FieldSpec& field, int64_t element) {
  return columns_of(field) == 1 ? field.name : cat(field.name, '_', element);
}

std::vector<CsvColumn> side_by_side(const RowSpec& rows) {
  std::vector<CsvColumn> out;
  for (size_t field = 0; field < rows.fields.size(); ++field) {
    for (int64_t i = 0; i < columns_of(rows.fields[field]); ++i) {
      out.push_back({element_name(rows.fields[field], i), static_cast<int>(field), i});
    }
  }
  return out;
}

// Where one column serves several fields, the text of the greater one reads back in all of them: a whole number has no
// exponent, and more digits say more. A text says it all.
int precision(const FieldSpec& field) {
  if (field.text) return field.ragged() ? 5 : 6;
  switch (field.dtype) {
    case DType::u8: return 4;
    case DType::i64: return 3;
    case DType::i32: return 2;
    case DType::f64: return 1;
    case DType::f32: return 0;
  }
  return 0;
}

// Empty where the rows have fields that were not decoded.
std::vector<CsvColumn> as_decoded(const TextColumns& from, const std::vector<std::string>& header,
                                  const RowSpec& rows) {
  std::vector<CsvColumn> out;
  for (size_t field = 0; field < rows.fields.size(); ++field) {
    const FieldSpec& spec = rows.fields[field];
    const int decoded = from.rows.find(spec.name);
    if (decoded < 0) return {};
    const std::vector<uint32_t>& columns = from.columns[static_cast<size_t>(decoded)];
    if (std::ssize(columns) != columns_of(spec)) return {};
    for (size_t i = 0; i < columns.size(); ++i) {
      if (columns[i] >= out.size()) out.resize(columns[i] + size_t{1});
      CsvColumn& column = out[columns[i]];
      if (column.field >= 0 && precision(rows.fields[static_cast<size_t>(column.field)]) >= precision(spec)) continue;
      column.field = static_cast<int>(field);
      column.element = static_cast<int64_t>(i);
    }
  }
  for (size_t i = 0; i < std::min(header.size(), out.size()); ++i) out[i].name = header[i];
  return out;
}

// Whether every number may be written as it is.
bool numbers_are_plain(const CsvDialect& dialect) {
  const auto in_numbers = [](char c) { return kNumberBytes.find(c) != kNumberBytes.npos; };
  return !in_numbers(dialect.delimiter) && !(dialect.quote && in_numbers(*dialect.quote)) &&
         !(dialect.comment && in_numbers(*dialect.comment));
}

}  // namespace

void append_csv_field(std::string& out, std::string_view text, const CsvDialect& dialect, bool first) {
  const bool plain = text.find_first_of("\r\n") == text.npos && text.find(dialect.delimiter) == text.npos &&
                     (!dialect.quote || text.find(*dialect.quote) == text.npos) &&
                     !(first && dialect.comment && text.starts_with(*dialect.comment));
  if (plain || !dialect.quote) {
    out += text;
    return;
  }
  out += *dialect.quote;
  for (const char c : text) {
    if (c == *dialect.quote) out += c;
    out += c;
  }
  out += *dialect.quote;
}

CsvLayout csv_layout(const TextColumns* from, const RowSpec& rows) {
  CsvLayout layout;
  const auto* dialect = from == nullptr ? nullptr : dynamic_cast<const CsvDialect*>(from->format.get());
  if (dialect != nullptr) layout.columns = as_decoded(*from, dialect->header, rows);
  if (dialect == nullptr || layout.columns.empty()) {
    layout.columns = side_by_side(rows);
    return layout;
  }
  layout.dialect = *dialect;
  layout.header = !dialect->header.empty();
  return layout;
}

std::string csv_head(const CsvLayout& layout) {
  std::string out(static_cast<size_t>(layout.dialect.skip_lines), '\n');
  if (!layout.header) return out;
  for (size_t i = 0; i < layout.columns.size(); ++i) {
    if (i > 0) out += layout.dialect.delimiter;
    append_csv_field(out, layout.columns[i].name, layout.dialect, i == 0);
  }
  return out + '\n';
}

namespace {

std::string_view value_text(std::string_view text, std::span<char>) { return text; }
template <class T>
std::string_view value_text(T value, std::span<char> buffer) {
  return shortest_text(value, buffer);
}

// The values of a ragged field as one text.
template <class Values>
std::string joined(const Values& values, char split) {
  std::string out;
  char buffer[40];
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out += split;
    out += value_text(values[i], buffer);
  }
  return out;
}

}  // namespace

void append_csv(std::string& out, const CsvLayout& layout, const RowBlock& batch) {
  const bool plain = numbers_are_plain(layout.dialect);
  char buffer[40];
  for (int64_t row = 0; row < batch.size(); ++row) {
    for (size_t i = 0; i < layout.columns.size(); ++i) {
      if (i > 0) out += layout.dialect.delimiter;
      const CsvColumn& column = layout.columns[i];
      if (column.field < 0) continue;
      const auto field = static_cast<size_t>(column.field);
      const FieldSpec& spec = batch.spec().fields[field];
      const size_t begin = out.size();
      with_values(batch, field, row, [&](const auto& values) {
        if (spec.ragged()) {
          append_csv_field(out, joined(values, *spec.split), layout.dialect, i == 0);
          return;
        }
        const std::string_view text = value_text(values[static_cast<size_t>(column.element)], buffer);
        if (plain && !spec.text) {
          out += text;
        } else {
          append_csv_field(out, text, layout.dialect, i == 0);
        }
      });
      // A line without a byte would be no record.
      if (out.size() == begin && layout.columns.size() == 1 && layout.dialect.quote)
        out.append(2, *layout.dialect.quote);
    }
    out += '\n';
  }
}

}  // namespace millrace::cli
