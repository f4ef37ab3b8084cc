#include "millrace/input/csv/hints.h"

#include <algorithm>
#include <array>

#include "millrace/core/text.h"

namespace millrace {

namespace {

bool starts_like_a_name(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == text.npos) return false;
  const char c = text[first];
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool stands_for_nothing(std::string_view text) {
  static constexpr std::array<std::string_view, 10> kTexts = {"NA",   "na",   "N/A",  "n/a", "NULL",
                                                              "null", "None", "none", "?",   "-"};
  return std::find(kTexts.begin(), kTexts.end(), text) != kTexts.end();
}

}  // namespace

std::string encoding_hint(std::string_view start) {
  if (start.starts_with("\x1f\x8b")) {
    return "the file is compressed by gzip: decompress it first, or read standard input: zcat data.csv.gz | trainer .. "
           "with files: \"-\"";
  }
  if (start.starts_with("\xff\xfe") || start.starts_with("\xfe\xff")) {
    return "the file is UTF-16: convert it to UTF-8 first: iconv -f UTF-16 -t UTF-8";
  }
  // A CR at the very end is no line end.
  if (start.find('\n') == start.npos && start.find('\r') < start.size() - 1) {
    return "the file has line ends of a CR alone: convert them first: tr '\\r' '\\n'";
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

std::string number_hint(std::string_view text, std::string_view record, const CsvDialect& dialect) {
  if (dialect.columns == 1) {
    if (std::string hint = delimiter_hint(text, dialect); !hint.empty()) return hint;
  }
  if (text.size() > 2 && text.front() == '\'' && text.back() == '\'') return "set csv_reader: {quote: \"'\"}";
  if (stands_for_nothing(text)) {
    return cat("if it stands for a missing value, set decode_csv: {missing: ", quote(text), "} and a default");
  }
  // The record is compared, not its place: then every chunk that meets it says the same.
  if (dialect.header.empty() && record == dialect.first_record && starts_like_a_name(text)) {
    return "the line looks like a header: set csv_reader: {header: true}";
  }
  return {};
}

}  // namespace millrace
