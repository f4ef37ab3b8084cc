#include "millrace/input/csv/record_scanner.h"

#include <algorithm>

namespace millrace {

namespace {

constexpr size_t kNone = std::string_view::npos;

}  // namespace

LineKind line_kind(std::string_view text, bool at_end, const CsvDialect& dialect) {
  if (text.empty()) return at_end ? LineKind::record : LineKind::more;
  const char first = text.front();
  if (dialect.comment == first) return LineKind::comment;
  if (first == '\n') return LineKind::blank;
  if (first != '\r') return LineKind::record;
  if (text.size() > 1) return text[1] == '\n' ? LineKind::blank : LineKind::record;
  return at_end ? LineKind::record : LineKind::more;
}

Spot spot_of(std::string_view record, size_t offset) {
  const std::string_view before = record.substr(0, offset);
  const size_t line_start = before.rfind('\n') + 1;  // 0 for the first line
  return {static_cast<uint64_t>(std::count(before.begin(), before.end(), '\n')),
          static_cast<int64_t>(offset - line_start) + 1};
}

void ScannedRecord::become_too_long() {
  *this = {};
  fault = SyntaxFault::too_long;
}

RecordScanner::RecordScanner(const CsvDialect& dialect, bool all_fields)
    : delimiter_(dialect.delimiter),
      quote_(dialect.quote),
      columns_(dialect.columns > 0 && !all_fields ? static_cast<size_t>(dialect.columns) : kNone) {}

bool RecordScanner::scan(std::string_view text, bool at_end, ScannedRecord& record) const {
  const bool too_much = text.size() > kMaxRecordBytes;
  Cursor cursor = {text.substr(0, kMaxRecordBytes + 1), at_end && !too_much};
  record.text_ = text;
  record.size_ = 0;
  record.fields_.clear();
  record.copies_.clear();
  record.length = 0;
  record.lines = 0;
  record.fault = SyntaxFault::none;
  record.fault_start = record.fault_at = 0;
  record.certain_end = false;

  Step step = Step::next_field;
  while (step == Step::next_field) step = scan_field(cursor, record);
  if (step == Step::fault && !find_end(cursor, record) && !too_much) return false;
  if (step == Step::more) {
    if (!too_much) return false;
    record.fault = SyntaxFault::too_long;
    record.fault_start = cursor.start;
  }
  const std::string_view all = text.substr(0, record.length);
  const bool ended = all.ends_with('\n') || all.empty();
  record.lines = static_cast<uint64_t>(std::count(all.begin(), all.end(), '\n')) + (ended ? 0 : 1);
  return true;
}

RecordScanner::Step RecordScanner::scan_field(Cursor& cursor, ScannedRecord& record) const {
  cursor.start = cursor.at;
  const bool quoted = quote_ && cursor.at < cursor.text.size() && cursor.text[cursor.at] == *quote_;
  const Step step = quoted ? scan_quoted(cursor, record) : scan_unquoted(cursor, record);
  if (step == Step::end) record.length = cursor.at;
  if (step == Step::fault) {
    record.fault_start = cursor.start;
    record.fault_at = cursor.at;
  }
  return step;
}

void RecordScanner::add_field(const Cursor& cursor, size_t begin, size_t size, bool copied,
                              ScannedRecord& record) const {
  if (record.size_++ < columns_) record.fields_.push_back({cursor.start, begin, size, copied});
}

RecordScanner::Step RecordScanner::scan_unquoted(Cursor& cursor, ScannedRecord& record) const {
  const std::string_view text = cursor.text;
  const size_t start = cursor.at;
  size_t end = start;
  for (; end < text.size(); ++end) {
    const char c = text[end];
    if (c == delimiter_ || c == '\n' || c == quote_) break;
  }
  cursor.at = end;
  if (end == text.size()) {
    if (!cursor.at_end) return Step::more;
    add_field(cursor, start, end - start, false, record);
    return Step::end;
  }
  if (text[end] == quote_) {
    record.fault = SyntaxFault::quote_in_field;
    return Step::fault;
  }
  ++cursor.at;
  const bool line_end = text[end] == '\n';
  if (line_end && end > start && text[end - 1] == '\r') --end;
  add_field(cursor, start, end - start, false, record);
  return line_end ? Step::end : Step::next_field;
}

RecordScanner::Step RecordScanner::scan_quoted(Cursor& cursor, ScannedRecord& record) const {
  const std::string_view text = cursor.text;
  const char quote = *quote_;
  const size_t begin = cursor.at + 1;
  size_t piece = begin;  // from here on, nothing is copied yet
  size_t close = begin;
  const size_t copy = record.copies_.size();
  for (;;) {
    close = text.find(quote, close);
    if (close == kNone || (close + 1 == text.size() && !cursor.at_end)) {
      if (!cursor.at_end) return Step::more;
      record.fault = SyntaxFault::unterminated_quote;
      return Step::fault;
    }
    if (close + 1 == text.size() || text[close + 1] != quote) break;
    record.copies_.append(text, piece, close + 1 - piece);
    close = piece = close + 2;
  }
  if (piece == begin) {
    add_field(cursor, begin, close - begin, false, record);
  } else {
    record.copies_.append(text, piece, close - piece);
    add_field(cursor, copy, record.copies_.size() - copy, true, record);
  }
  cursor.at = close + 1;
  const Step step = after_quote(cursor);
  if (step == Step::fault) record.fault = SyntaxFault::text_after_quote;
  return step;
}

RecordScanner::Step RecordScanner::after_quote(Cursor& cursor) const {
  const std::string_view rest = cursor.text.substr(cursor.at);
  if (rest.empty()) return cursor.at_end ? Step::end : Step::more;
  size_t taken = 1;
  Step step = Step::fault;
  if (rest.front() == delimiter_) step = Step::next_field;
  if (rest.front() == '\n') step = Step::end;
  if (rest.front() == '\r') {
    if (rest.size() == 1 && !cursor.at_end) return Step::more;
    taken = 2;
    if (rest.size() > 1 && rest[1] == '\n') step = Step::end;
  }
  if (step != Step::fault) cursor.at += taken;
  return step;
}

// Passes the rest of a faulty field, up to its delimiter or line end.
RecordScanner::Step RecordScanner::skip_rest(Cursor& cursor) const {
  const std::string_view text = cursor.text;
  while (cursor.at < text.size() && text[cursor.at] != delimiter_ && text[cursor.at] != '\n') ++cursor.at;
  if (cursor.at == text.size()) return cursor.at_end ? Step::end : Step::more;
  return text[cursor.at++] == '\n' ? Step::end : Step::next_field;
}

// Looks for the end of a faulty record. The end is certain if the record lies in one line: that is so if the fields
// after the faulty one, each read by the rules or skipped, lead to a line end outside quotes. Returns false if more
// text must be read.
bool RecordScanner::find_end(Cursor cursor, ScannedRecord& record) const {
  if (record.fault == SyntaxFault::unterminated_quote) return true;
  const auto in_one_line = [&] { return cursor.text.substr(0, cursor.at).find('\n') == kNone; };
  if (!in_one_line()) return true;
  ScannedRecord rest;
  Step step = skip_rest(cursor);
  while (step == Step::next_field) {
    step = scan_field(cursor, rest);
    if (step == Step::fault && rest.fault == SyntaxFault::unterminated_quote) return true;
    if (step == Step::fault) step = skip_rest(cursor);
  }
  // A line end inside a quoted field decides, too, even if that field's end is not known yet.
  if (step == Step::more) return cursor.text.find('\n') != kNone;
  const std::string_view line = cursor.text.substr(0, cursor.at);
  const size_t first_end = line.find('\n');
  record.certain_end = first_end == kNone || first_end + 1 == line.size();
  record.length = cursor.at;
  return true;
}

}  // namespace millrace
