#include "millrace/input/csv/record_error.h"

#include <utility>

#include "millrace/core/text.h"
#include "millrace/input/csv/number_parser.h"

namespace millrace {

namespace {

// A message has the line of the record, so a field on a later line needs these words.
std::string below(const Spot& spot) {
  return spot.lines == 0 ? std::string() : cat(", on line ", spot.lines + 1, " of the record");
}

std::string column_name(uint32_t column, const std::string& field, const CsvDialect& dialect) {
  std::string out = "column";
  if (dialect.numbers_columns) out += cat(' ', column);
  if (column < dialect.header.size()) out += cat(' ', quote(dialect.header[column]));
  return cat(out, " (", field, ')');
}

// Whether nothing but blanks stands between the start of the faulty field and its quote.
bool blank_before_quote(const ScannedRecord& scanned) {
  const std::string_view before = scanned.text().substr(scanned.fault_start, scanned.fault_at - scanned.fault_start);
  return !before.empty() && before.find_first_not_of(" \t") == before.npos;
}

// A hint for text after the closing quote at fault_at - 1.
std::string closed_too_early(const ScannedRecord& scanned) {
  const std::string_view text = scanned.text();
  if (text[scanned.fault_at] == ' ' || text[scanned.fault_at] == '\t') return "remove the blank after the quote";
  const bool escaped = scanned.fault_at >= scanned.fault_start + 3 && text[scanned.fault_at - 2] == '\\';
  return escaped ? "a backslash escapes nothing: double the quotes inside a quoted field"
                 : "double the quotes inside a quoted field";
}

// If the whole file is wrong, this hint replaces the error's own.
RecordError with_encoding(RecordError error, const Record& record, const CsvDialect& dialect) {
  // If the record is too long, more or fewer of its bytes may be held.
  const std::string_view own =
      record.kind == Record::Kind::scanned ? record.scanned->text().substr(0, kMaxRecordBytes + 1) : record.bytes;
  if (std::string hint = encoding_hint(record.offset == 0 ? own : dialect.first_record); !hint.empty()) {
    error.hint = std::move(hint);
  }
  return error;
}

// A hint for several numbers in one column of a field without `split`.
std::string list_hint(std::string_view text, const FieldSpec& field) {
  if (field.ragged() || text.find_first_of("0123456789") == text.npos) return {};
  const size_t separator = text.find_first_of(" |;", text.find_first_of("0123456789"));
  if (separator == text.npos || text.find_first_not_of("0123456789+-.eE |;") != text.npos) return {};
  return cat("a list of numbers? Give ", field.name, " a split: ", quote(text.substr(separator, 1)));
}

}  // namespace

RecordError syntax_error(const Record& record, const CsvDialect& dialect) {
  const ScannedRecord& scanned = *record.scanned;
  const Spot spot = spot_of(scanned.text(), scanned.fault_start);
  RecordError out;
  out.line = record.line;
  out.column = spot.column;
  out.certain_end = scanned.certain_end;
  switch (scanned.fault) {
    case SyntaxFault::none: break;
    case SyntaxFault::quote_in_field:
      out.message = cat("a quote inside an unquoted field", below(spot));
      out.hint = blank_before_quote(scanned)
                     ? "a quote opens a field only as its first byte: remove the blank before it"
                     : "put the whole field in quotes and double the quotes in it, or set csv_reader: {quote: none}";
      break;
    case SyntaxFault::text_after_quote:
      out.message = cat("text after a closing quote", below(spot), ": expected ", quote({&dialect.delimiter, 1}),
                        " or the end of the line, got ", quote(scanned.text().substr(scanned.fault_at, 1)));
      out.hint = closed_too_early(scanned);
      break;
    case SyntaxFault::unterminated_quote:
      out.line += spot.lines;
      out.message = "unterminated quote: the field that starts here has no closing quote";
      out.hint = "close it, or set csv_reader: {quote: none}";
      break;
    case SyntaxFault::too_long:
      out.column = 1;
      out.message = cat("the record is longer than ", kMaxRecordBytes, " bytes");
      if (dialect.quote && scanned.text().substr(scanned.fault_start, 1) == std::string_view(&*dialect.quote, 1)) {
        out.hint = cat("a quote that is never closed? The last one opens on line ", spot.lines + 1, " of the record");
      }
      break;
  }
  return with_encoding(std::move(out), record, dialect);
}

RecordError blank_line_error(const Record& record) {
  return {.message = "a blank line", .hint = "set csv_reader: {blank_lines: skip}", .line = record.line};
}

RecordError field_count_error(const Record& record, const CsvDialect& dialect) {
  const std::string_view counted = dialect.header.empty() ? "the first record" : "the header";
  return with_encoding({.message = cat("expected ", count_of(dialect.columns, "field"), ", got ", record.size()),
                        .hint = cat(counted, " has ", dialect.columns),
                        .line = record.line},
                       record, dialect);
}

RecordError value_error(const Record& record, const BadValue& bad, const RowConverter& converter,
                        const CsvDialect& dialect) {
  const SelectedField& field = converter.fields()[bad.field];
  const std::string_view whole = record.field(bad.column);
  const std::string_view text = bad.value ? bad.text : whole;
  const Spot spot = spot_of(record.bytes, record.start(bad.column));
  RecordError out;
  out.line = record.line;
  out.column = spot.column;
  out.field = field.spec.name;
  out.value = whole;
  out.message = cat(column_name(bad.column, field.spec.name, dialect), below(spot));
  out.message += bad.value ? cat(", value ", *bad.value, ": ") : ": ";
  const std::string type = field.time ? field.time->name() : std::string(field.spec.type_name());
  switch (bad.fault) {
    case ValueFault::none: break;
    case ValueFault::required:
      out.message += cat("the value is required, got ", quote(text));
      out.hint = cat("give ", field.spec.name, field.spec.ragged() ? " a default: []" : " a default");
      break;
    case ValueFault::malformed:
      out.message += cat("expected ", type, ", got ", quote(text));
      if (field.time) out.hint = field.time->hint(text);
      if (!field.time && !bad.value && !is_number(text)) out.hint = usual_time_formats().front().hint(text);
      if (out.hint.empty() && !bad.value) out.hint = number_hint(whole, record.bytes, dialect);
      if (out.hint.empty() && !field.time) out.hint = list_hint(text, field.spec);
      if (is_integer(field.spec.dtype) && !field.spec.text && !field.time && is_number(text)) {
        out.hint = cat("set type: float32 or float64 for ", field.spec.name, ", unless it holds classes or ids");
      }
      break;
    case ValueFault::out_of_range:
      out.message += cat(quote(text), " is out of the range of ", type);
      if (field.spec.dtype == DType::i32) out.hint = cat("set type: int64 or float64 for ", field.spec.name);
      if (field.spec.dtype == DType::u8) out.hint = cat("set type: int32 for ", field.spec.name);
      break;
    case ValueFault::nonfinite:
      out.message += cat(quote(text), " is not finite as ", type);
      out.hint = "set decode_csv: {allow_nonfinite: true}";
      break;
  }
  return with_encoding(std::move(out), record, dialect);
}

}  // namespace millrace
