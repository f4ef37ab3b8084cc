// RecordCutter: cuts one record after another from a chunk's text, by the index if it can, else byte by byte.
//
//   RecordCutter cutter(dialect, text, chunk.lines, scratch);
//   while (cutter.next()) use(cutter.record());
//
// Comments are skipped, and so are blank lines if the dialect says so. One thread at a time; the scratch is reused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "millrace/input/csv/csv_dialect.h"
#include "millrace/input/csv/record_scanner.h"
#include "millrace/input/csv/text_index.h"
#include "millrace/input/rows/chunk.h"

namespace millrace {

// A record cut into fields. Valid until the next call to the cutter.
struct Record {
  enum class Kind : uint8_t {
    plain,    // without quotes: use `plain`
    scanned,  // with quotes, or with a fault: use `scanned`
    blank,    // a blank line, if the dialect takes it for an error
  };
  Kind kind = Kind::plain;
  uint64_t offset = 0;          // in the file
  uint64_t line = 0;            // line ends between the chunk's first record and this one
  uint64_t lines = 0;           // line ends in it, its own included; the end of the file counts as one
  std::string_view bytes = {};  // the record with its line end; empty if a fault hides the end

  FieldRun plain = {};  // fields beyond the dialect's number of columns are counted, but not held
  const ScannedRecord* scanned = nullptr;

  SyntaxFault fault() const { return kind == Kind::scanned ? scanned->fault : SyntaxFault::none; }
  size_t size() const { return kind == Kind::scanned ? scanned->size() : plain.count; }
  std::string_view field(size_t index) const {
    if (kind == Kind::scanned) return scanned->field(index);
    const size_t first = plain.start(index);
    return {plain.text + first, plain.ends[index] - first};
  }
  // Offset in the record of the field's first byte, its quote included.
  size_t start(size_t index) const {
    return kind == Kind::scanned ? scanned->start(index) : plain.start(index) - plain.begin;
  }
};

// Memory that the cutters of one thread use in turn.
struct CutterScratch {
  TextIndex index;
  ScannedRecord scanned;
};

class RecordCutter {
 public:
  // `lines`: how many line ends lie before the text's first byte. The arguments outlive the cutter.
  RecordCutter(const CsvDialect& dialect, ChunkText& text, uint64_t lines, CutterScratch& scratch);

  // Goes to the next record that starts before the text's limit. False if there is none. Throws IoError. REQUIRES: the
  // record before had no fault, or its end is certain.
  bool next();
  const Record& record() const { return record_; }

  // The file offset after everything that next() passed, and the line ends up to there.
  uint64_t end_offset() const { return text_.offset() + at_; }
  uint64_t lines() const { return lines_; }

  // Upper bound of the bytes that a CutterScratch grows to.
  static uint64_t work_bound(const CsvDialect& dialect);

 private:
  bool has_more();
  bool pass_comment();
  void pass_blank();
  void cut();
  void cut_scanned();
  bool find_event();
  void drop_passed();
  void finish(Record::Kind kind, size_t length, uint64_t lines);

  const CsvDialect& dialect_;
  ChunkText& text_;
  const TextMarks marks_;
  const RecordScanner scanner_;
  TextIndex& index_;
  ScannedRecord& scanned_;
  Record record_;
  size_t at_ = 0;  // where in the text the next record starts
  uint64_t lines_ = 0;
  size_t separator_ = 0;  // index of the next separator to look at
  size_t event_ = 0;      // index of the next event
  size_t surplus_ = 0;    // separators of this record that are counted, but not held
};

}  // namespace millrace
