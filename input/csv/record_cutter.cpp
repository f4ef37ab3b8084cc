#include "millrace/input/csv/record_cutter.h"

#include <algorithm>

#include "millrace/input/csv/kernels/kernels.h"

namespace millrace {

namespace {

// How many bytes are indexed at a time: so few that they stay in the first-level cache until they are parsed.
constexpr size_t kIndexStep = 16384;

}  // namespace

RecordCutter::RecordCutter(const CsvDialect& dialect, ChunkText& text, uint64_t lines, CutterScratch& scratch)
    : dialect_(dialect),
      text_(text),
      marks_{dialect.delimiter, dialect.quote},
      scanner_(dialect),
      index_(scratch.index),
      scanned_(scratch.scanned),
      lines_(lines) {
  // Room for the separators of one step, and of a record that began in the step before.
  index_.reserve(kIndexStep + 2 + static_cast<size_t>(std::max<int64_t>(dialect.columns, 0)));
  index_.clear();
}

uint64_t RecordCutter::work_bound(const CsvDialect& dialect) {
  // Vectors grow to twice the size that is needed. A record with doubled quotes is copied.
  const uint64_t columns = dialect.columns > 0 ? static_cast<uint64_t>(dialect.columns) : 0;
  const uint64_t entries = kIndexStep + kSpareEntries + columns;
  const uint64_t separator_bytes = (entries + columns) * sizeof(uint32_t);
  const uint64_t event_bytes = entries * sizeof(TextIndex::Event);
  const uint64_t scanned_bytes = dialect.quote ? columns * 4 * sizeof(size_t) + kMaxRecordBytes : 0;
  return 2 * (separator_bytes + event_bytes + scanned_bytes);
}

bool RecordCutter::next() {
  while (has_more()) {
    switch (line_kind(text_.bytes().substr(at_), text_.at_end(), dialect_)) {
      case LineKind::more: text_.extend(); break;
      case LineKind::comment:
        if (!pass_comment()) return true;
        break;
      case LineKind::blank:
        pass_blank();
        if (!dialect_.skip_blank_lines) return true;
        break;
      case LineKind::record: cut(); return true;
    }
  }
  return false;
}

bool RecordCutter::has_more() {
  if (end_offset() >= text_.limit()) return false;
  while (at_ == text_.bytes().size()) {
    if (text_.at_end()) return false;
    text_.extend();
  }
  return true;
}

// False if the line is longer than a record may be.
bool RecordCutter::pass_comment() {
  size_t looked = at_;
  for (;;) {
    const std::string_view bytes = text_.bytes();
    const size_t found = bytes.find('\n', looked);
    const size_t end = std::min(found, bytes.size());
    if (end - at_ > kMaxRecordBytes) break;
    if (found != bytes.npos || text_.at_end()) {
      at_ = std::min(end + 1, bytes.size());
      ++lines_;
      return true;
    }
    looked = end;
    text_.extend();
  }
  scanned_.become_too_long();
  finish(Record::Kind::scanned, 0, 0);
  return false;
}

void RecordCutter::pass_blank() {
  record_.plain.count = 0;
  finish(Record::Kind::blank, text_.bytes()[at_] == '\n' ? 1 : 2, 1);
}

void RecordCutter::cut() {
  if (!find_event()) return cut_scanned();
  const TextIndex::Event event = index_.events()[event_];
  const std::string_view bytes = text_.bytes();
  const bool at_end = event.position == bytes.size();
  if ((!at_end && bytes[event.position] != '\n') || event.position - at_ > kMaxRecordBytes) return cut_scanned();

  uint32_t* separators = index_.separators();
  const size_t count = event.separators + size_t{1} - separator_ + surplus_;
  record_.plain = {bytes.data(), at_, separators + separator_, count};
  const bool carriage_return = !at_end && event.position > at_ && bytes[event.position - 1] == '\r';
  separators[event.separators] = event.position - (carriage_return ? 1 : 0);
  separator_ = event.separators + size_t{1};
  ++event_;
  const size_t length = event.position - at_ + (at_end ? 0 : 1);
  finish(Record::Kind::plain, length, 1);
}

void RecordCutter::cut_scanned() {
  while (!scanner_.scan(text_.bytes().substr(at_), text_.at_end(), scanned_)) text_.extend();
  const bool known = scanned_.fault == SyntaxFault::none || scanned_.certain_end;
  finish(Record::Kind::scanned, known ? scanned_.length : 0, known ? scanned_.lines : 0);
}

// Makes event_ the first event at or after at_: the record's end or its first quote. False if there is none within the
// longest record.
bool RecordCutter::find_event() {
  surplus_ = 0;
  for (;;) {
    while (event_ < index_.event_count() && index_.events()[event_].position < at_) ++event_;
    const uint32_t* separators = index_.separators();
    while (separator_ < index_.separator_count() && separators[separator_] < at_) ++separator_;
    if (event_ < index_.event_count()) return true;
    drop_passed();
    const size_t known = text_.bytes().size();
    if (index_.size() < known) {
      index_.extend(text_.bytes().data(), std::min(known, index_.size() + kIndexStep), marks_);
    } else if (text_.at_end()) {
      index_.finish();
    } else if (known - at_ > kMaxRecordBytes) {
      return false;
    } else {
      text_.extend();
    }
  }
}

// Bounds the index for any text: drops what belongs to earlier records, and separators beyond the number that a record
// should have.
void RecordCutter::drop_passed() {
  size_t held = index_.separator_count() - separator_;
  const auto most = static_cast<size_t>(dialect_.columns);
  if (most > 0 && held > most) {
    surplus_ += held - most;
    held = most;
  }
  index_.keep(separator_, separator_ + held);
  separator_ = event_ = 0;
}

void RecordCutter::finish(Record::Kind kind, size_t length, uint64_t lines) {
  record_.kind = kind;
  record_.offset = end_offset();
  record_.line = lines_;
  record_.lines = lines;
  record_.bytes = text_.bytes().substr(at_, length);
  record_.scanned = &scanned_;
  at_ += length;
  lines_ += lines;
}

}  // namespace millrace
