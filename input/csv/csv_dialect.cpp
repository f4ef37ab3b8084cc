#include "millrace/input/csv/csv_dialect.h"

#include <algorithm>
#include <span>
#include <utility>

#include "millrace/core/text.h"
#include "millrace/input/csv/number_parser.h"
#include "millrace/input/csv/time_format.h"
#include "millrace/input/files/foreign_file.h"

namespace millrace {

namespace {

bool starts_like_a_name(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == text.npos) return false;
  const char c = text[first];
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool is_one_of(std::string_view text, std::span<const std::string_view> texts) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

bool has_controls(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' ' && c != '\t'; });
}

// Texts that usually stand for a missing value.
constexpr std::string_view kMissing[] = {"NA",   "na",   "N/A",  "n/a", "#N/A", "<NA>", "\\N", "NULL",
                                         "null", "None", "none", "nil", "?",    "-",    "--",  "."};
constexpr std::string_view kTruthValues[] = {"true", "True", "TRUE", "false", "False", "FALSE",
                                             "yes",  "Yes",  "YES",  "no",    "No",    "NO"};

// Whether a field of the record is a number or a date, or a part of a quoted field is. A header has none.
bool has_a_number(std::string_view record, const CsvDialect& dialect) {
  const char ends[] = {dialect.delimiter, dialect.quote.value_or('\n'), '\r', '\n'};
  for (;;) {
    const size_t end = std::min(record.find_first_of({ends, sizeof ends}), record.size());
    const std::string_view field = record.substr(0, end);
    if (is_number(field) || !usual_time_formats().front().hint(field).empty()) return true;
    if (end == record.size()) return false;
    record.remove_prefix(end + 1);
  }
}

// A hint for characters that look like a blank, or cannot be seen; else empty.
std::string invisible_hint(std::string_view text) {
  static constexpr std::pair<std::string_view, std::string_view> kCharacters[] = {
      {"\xef\xbb\xbf", "a byte order mark (U+FEFF), as when files were joined"},
      {"\xc2\xa0", "a no-break space (U+00A0)"},
      {"\xe2\x80\xaf", "a narrow no-break space (U+202F)"},
      {"\xe2\x80\x8b", "a zero-width space (U+200B)"},
  };
  for (const auto& [bytes, name] : kCharacters) {
    if (text.find(bytes) != text.npos) return cat("it holds ", name, ": remove it");
  }
  return {};
}

}  // namespace

std::string encoding_hint(std::string_view start, bool from_pipe) {
  if (const std::optional<ForeignFile> foreign = foreign_file(start, from_pipe)) return foreign->hint();
  // A CR at the very end does not count as a line end.
  if (start.find('\n') == start.npos && start.find('\r') < start.size() - 1 && start.find('\0') == start.npos) {
    return "the lines end in CR without LF: convert them first: tr '\\r' '\\n'";
  }
  return {};
}

std::string delimiter_hint(std::string_view text, const CsvDialect& dialect) {
  for (const char c : {';', '\t', '|'}) {
    if (c != dialect.delimiter && text.find(c) != text.npos) {
      return cat("set csv_reader: {delimiter: ", quote({&c, 1}), "}");
    }
  }
  const bool numbers = !text.empty() && text.find_first_not_of("0123456789+-.eE \r\n") == text.npos;
  if (numbers && text.find(' ') != text.npos) return "set csv_reader: {delimiter: \" \"}";
  return {};
}

std::string first_line_hint(const CsvDialect& dialect) {
  const std::string_view record = dialect.first_record;
  if (dialect.columns != 1 || !dialect.header.empty() || record.empty()) return {};
  const std::string_view line = record.substr(0, std::min(record.find_first_of("\r\n"), record.size()));
  if (line.starts_with('#')) return "is the first line a comment? Set csv_reader: {comment: \"#\"}";
  if (!starts_like_a_name(line) || has_controls(line)) return {};
  return cat("is the first line, ", quote(line), ", a title? Set csv_reader: {skip_lines: 1}");
}

std::string number_hint(std::string_view text, std::string_view record, const CsvDialect& dialect) {
  if (dialect.columns == 1) {
    if (std::string hint = delimiter_hint(text, dialect); !hint.empty()) return hint;
  }
  if (text.size() > 2 && text.front() == '\'' && text.back() == '\'') return "set csv_reader: {quote: \"'\"}";
  if (is_one_of(text, kMissing)) {
    return cat("if it stands for a missing value, set decode_csv: {missing: ", quote(text), "} and a default");
  }
  if (is_one_of(text, kTruthValues)) return "truth values are not numbers: write 1 and 0";
  if (text.ends_with('\r')) return "a CR without LF is not a line end: remove it: tr -d '\\r'";
  if (std::string hint = invisible_hint(text); !hint.empty()) return hint;
  // Compares the record's text, not its place, so that every chunk gives the same hint.
  if (dialect.header.empty() && record == dialect.first_record && starts_like_a_name(text) &&
      !has_a_number(record, dialect)) {
    return "the line looks like a header: set csv_reader: {header: true}";
  }
  return {};
}

}  // namespace millrace
