#include "millrace/input/csv/preamble.h"

#include <cstring>

#include "millrace/core/errors.h"
#include "millrace/input/csv/record_error.h"

namespace millrace {

namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

[[noreturn]] void throw_error(const RecordError& error, const FileEntry& file) {
  throw DataError("in the header: " + error.message, {file.path, static_cast<int64_t>(error.line) + 1, error.column},
                  error.hint);
}

void cut_header(FileText& text, const CsvDialect& dialect, const FileEntry& file, Preamble& out) {
  // It may have more names than the first file's, and is compared with that whole.
  const RecordScanner scanner(dialect, true);
  ScannedRecord& header = text.scratch();
  while (!scanner.scan(text.bytes(), text.at_end(), header)) text.extend();
  Record record;
  record.kind = Record::Kind::scanned;
  record.line = out.lines;
  record.scanned = &header;
  if (header.fault != SyntaxFault::none) throw_error(syntax_error(record, dialect), file);
  out.has_header = true;
  out.header_line = out.lines;
  out.lines += header.lines;
  text.skip(header.length);
}

}  // namespace

void skip_line(FileText& text) {
  for (;;) {
    const std::string_view bytes = text.bytes();
    const size_t end = bytes.find('\n');
    text.skip(end == bytes.npos ? bytes.size() : end + 1);
    if (end != bytes.npos || text.at_end()) return;
    text.extend();
  }
}

Preamble pass_preamble(FileText& text, bool header, const CsvDialect& dialect, const FileEntry& file) {
  Preamble out;
  if (text.bytes().starts_with(kByteOrderMark)) text.skip(kByteOrderMark.size());
  for (int64_t i = 0; i < dialect.skip_lines && !(text.bytes().empty() && text.at_end()); ++i) {
    skip_line(text);
    ++out.lines;
  }
  while (header && !out.has_header && !(text.bytes().empty() && text.at_end())) {
    switch (line_kind(text.bytes(), text.at_end(), dialect)) {
      case LineKind::more: text.extend(); break;
      case LineKind::blank:
        if (!dialect.skip_blank_lines) throw_error(blank_line_error(Record{.line = out.lines}), file);
        [[fallthrough]];
      case LineKind::comment:
        skip_line(text);
        ++out.lines;
        break;
      case LineKind::record: cut_header(text, dialect, file, out); break;
    }
  }
  return out;
}

}  // namespace millrace
