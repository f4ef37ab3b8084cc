#include "millrace/cli/rows/csv_text.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "millrace/cli/rows/field_values.h"
#include "millrace/cli/text/number_format.h"
#include "millrace/core/text.h"
#include "millrace/input/csv/record_scanner.h"

namespace millrace::cli {

namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

bool is_blank(char c) { return c == ' ' || c == '\t'; }

bool numbers_are_plain(const CsvDialect& dialect) {
  // The bytes in texts of numbers: digits, exponents, nan and inf.
  constexpr std::string_view kNumberBytes = "0123456789+-.einfa";
  const auto in_numbers = [&](char c) { return kNumberBytes.find(c) != kNumberBytes.npos; };
  return !in_numbers(dialect.delimiter) && !(dialect.quote && in_numbers(*dialect.quote)) &&
         !(dialect.comment && in_numbers(*dialect.comment));
}

// A blank or a tab, whichever neither ends a field nor begins a comment.
char blank_of(const CsvDialect& dialect) { return dialect.delimiter == ' ' || dialect.comment == ' ' ? '\t' : ' '; }

std::string_view value_text(std::string_view text, std::span<char>) { return text; }
template <class T>
std::string_view value_text(T value, std::span<char> buffer) {
  return shortest_text(value, buffer);
}

double number_of(std::string_view) { return 0; }
template <class T>
double number_of(T value) {
  return static_cast<double>(value);
}

bool is_same(std::string_view a, std::string_view b) { return a == b; }
template <class T>
bool is_same(T a, T b) {
  return (a == b && std::signbit(a) == std::signbit(b)) || (a != a && b != b);
}

Texts values_of(const Varying& read, const Texts&) { return Texts(read); }
template <class T>
std::span<const T> values_of(const Varying& read, std::span<const T>) {
  return read.numbers<T>();
}

bool is_filling(std::string_view text) { return text.empty(); }
template <class T>
bool is_filling(T) {
  return false;
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

CsvText::CsvText(CsvLayout layout) : layout_(std::move(layout)), plain_numbers_(numbers_are_plain(layout_.dialect)) {}

void CsvText::append_head(std::string& out) {
  const size_t begin = out.size();
  out.append(static_cast<size_t>(layout_.dialect.skip_lines), '\n');
  if (layout_.header) {
    for (size_t i = 0; i < layout_.columns.size(); ++i) {
      const std::string& name = layout_.columns[i].name;
      if (!can_stand(i, name)) {
        throw DataError(cat("the name ", quote(name), " of a column needs quotes, but csv_reader has quote: none"), {},
                        layout_.way_out);
      }
      append_field(out, i, name);
    }
    out += '\n';
  }
  mark_bytes(out, begin);
}

void CsvText::append(std::string& out, const RowSpan& rows, FunctionRef<Place(int64_t)> place) {
  const RowBlock& batch = *rows.block;
  const size_t begin = out.size();
  for (int64_t row = rows.begin; row < rows.begin + rows.count; ++row) {
    const size_t line = out.size();
    for (size_t i = 0; i < layout_.columns.size(); ++i) {
      const CsvColumn& column = layout_.columns[i];
      if (is_plain(column, batch.spec())) {
        if (i > 0) out += layout_.dialect.delimiter;
        append_text(out, column.values.front(), batch, row);
        continue;
      }
      if (!find_text(i, batch, row)) refuse(i, batch, row, place(row));
      append_field(out, i, text_);
    }
    if (out.size() - line > kMaxRecordBytes) {
      throw DataError(cat("the row takes more than ", kMaxRecordBytes, " bytes as CSV, and could not be read"),
                      place(row), layout_.way_out);
    }
    out += '\n';
  }
  mark_bytes(out, begin);
}

bool CsvText::is_plain(const CsvColumn& column, const RowSpec& rows) const {
  if (!plain_numbers_ || column.values.size() != 1) return false;
  const CsvValue& value = column.values.front();
  return missing_of(value).empty() && !value.split && !value.time && !rows.fields[value.field].text;
}

void CsvText::append_text(std::string& out, const CsvValue& value, const RowBlock& batch, int64_t row) const {
  with_values(batch, value.field, row, [&](const auto& values) {
    char buffer[40];
    const size_t begin = value.split ? 0 : value.element, end = value.split ? values.size() : begin + 1;
    for (size_t i = begin; i < end; ++i) {
      if (i > begin) out += *value.split;
      std::string time;
      if (value.time) time = layout_.reader->text_of(*value.read_by, number_of(values[i]));
      out += time.empty() ? value_text(values[i], buffer) : time;
    }
  });
}

std::string CsvText::text_of(const CsvValue& value, const RowBlock& batch, int64_t row) const {
  std::string out;
  append_text(out, value, batch, row);
  return out;
}

const std::vector<std::string>& CsvText::missing_of(const CsvValue& value) const {
  static const std::vector<std::string> kNone;
  return layout_.reader != nullptr && value.read_by ? layout_.reader->missing(*value.read_by) : kNone;
}

bool CsvText::find_text(size_t column, const RowBlock& batch, int64_t row) {
  const std::vector<CsvValue>& values = layout_.columns[column].values;
  if (values.empty()) return try_text(column, batch, row, {}, true);
  for (const bool exactly : {true, false}) {
    if (!exactly && layout_.whole_lists) break;
    for (const CsvValue& value : values) {
      const std::vector<std::string>& missing = missing_of(value);
      const std::string text = text_of(value, batch, row);
      if (try_text(column, batch, row, text, exactly)) return true;
      // If a number has the text of a missing value, or a list is empty, blanks before it make the text another one.
      const bool is_missing = text.empty() || std::find(missing.begin(), missing.end(), text) != missing.end();
      const bool between_blanks = value.split && is_blank(*value.split);
      const bool blanks = between_blanks || !batch.spec().fields[value.field].text;
      const char blank = between_blanks ? *value.split : blank_of(layout_.dialect);
      for (size_t count = 1; blanks && is_missing && count <= missing.size() + 1; ++count) {
        if (try_text(column, batch, row, std::string(count, blank) + text, exactly)) return true;
      }
    }
    // The values may be the default, so that the text of a missing value gives them.
    if (try_text(column, batch, row, {}, exactly)) return true;
    for (const CsvValue& value : values) {
      for (const std::string& text : missing_of(value)) {
        if (try_text(column, batch, row, text, exactly)) return true;
      }
    }
  }
  return false;
}

bool CsvText::try_text(size_t column, const RowBlock& batch, int64_t row, std::string text, bool exactly) {
  if (!can_stand(column, text)) return false;
  for (const CsvValue& value : layout_.columns[column].values) {
    if (!reads_as(text, value, batch, row, exactly)) return false;
  }
  text_ = std::move(text);
  return true;
}

// Whether the text can stand in that column, with quotes if it needs them.
bool CsvText::can_stand(size_t column, std::string_view text) const {
  const CsvDialect& dialect = layout_.dialect;
  if (dialect.quote) return true;
  if (text.find('\n') != text.npos || text.find(dialect.delimiter) != text.npos) return false;
  if (column == 0 && dialect.comment && text.starts_with(*dialect.comment)) return false;
  const bool last = column + 1 == layout_.columns.size();
  return !(last && text.ends_with('\r')) && !(last && column == 0 && text.empty());
}

// Unless `exactly`, a list may lack the empty texts at its end: `pad` added them, and if blanks separate the texts, no
// text can hold them.
bool CsvText::reads_as(std::string_view text, const CsvValue& value, const RowBlock& batch, int64_t row, bool exactly) {
  if (layout_.reader == nullptr || !value.read_by) return true;
  if (!layout_.reader->read(text, *value.read_by, value.element, read_)) return false;
  bool same = true;
  with_values(batch, value.field, row, [&](const auto& values) {
    const auto read = values_of(read_, values);
    if (!value.split) {
      same = is_same(read[0], values[value.element]);
      return;
    }
    same = read.size() <= values.size() && (!exactly || read.size() == values.size());
    for (size_t i = 0; same && i < values.size(); ++i) {
      same = i < read.size() ? is_same(read[i], values[i]) : is_filling(values[i]);
    }
  });
  return same;
}

void CsvText::append_field(std::string& out, size_t column, std::string_view text) const {
  const CsvDialect& dialect = layout_.dialect;
  if (column > 0) out += dialect.delimiter;
  // An empty line would not be read as a record.
  if (text.empty() && layout_.columns.size() == 1 && dialect.quote) out.append(2, *dialect.quote);
  append_csv_field(out, text, dialect, column == 0);
}

// The reader skips a byte order mark at the start of a file. If the first text begins with one, the file gets another.
void CsvText::mark_bytes(std::string& out, size_t begin) {
  if (!begun_ && std::string_view(out).substr(begin).starts_with(kByteOrderMark)) out.insert(begin, kByteOrderMark);
  begun_ = begun_ || out.size() > begin;
}

void CsvText::refuse(size_t column, const RowBlock& batch, int64_t row, const Place& place) const {
  const std::vector<CsvValue>& values = layout_.columns[column].values;
  bool stands = true;
  std::vector<std::string> wanted;
  for (const CsvValue& value : values) {
    const FieldSpec& field = batch.spec().fields[value.field];
    const std::string text = text_of(value, batch, row);
    stands = stands && can_stand(column, text);
    wanted.push_back(cat(field.text || value.split ? quote(text) : text, " by ", field.name));
  }
  throw DataError(cat("no text in column ", column, " of a CSV file is read as ", join(wanted)), place,
                  cat(stands ? "" : "csv_reader has quote: none; ", layout_.way_out));
}

}  // namespace millrace::cli
