// RecordScanner: cuts one record into fields by RFC 4180, byte by byte. It is needed for records with quotes.
//
// Records without quotes are cut with a TextIndex; both ways give the same fields, places and faults. Constant after
// construction, so any thread may use one; a ScannedRecord belongs to one thread and is reused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/input/csv/csv_dialect.h"

namespace millrace {

// The most bytes that a record may have before its line end.
inline constexpr size_t kMaxRecordBytes = 16u << 20;

enum class SyntaxFault : uint8_t { none, quote_in_field, text_after_quote, unterminated_quote, too_long };

class ScannedRecord {
 public:
  size_t size() const { return size_; }
  // The field's bytes, unquoted. Valid until the next scan, while the scanned text is valid. REQUIRES: index < size(),
  // and index < the number of fields that the scanner keeps.
  std::string_view field(size_t index) const {
    const Field& field = fields_[index];
    return {(field.copied ? copies_.data() : text_.data()) + field.begin, field.size};
  }
  // Offset in the record of the field's first byte, its quote included.
  size_t start(size_t index) const { return fields_[index].start; }
  // The text that was scanned, from the record's first byte on.
  std::string_view text() const { return text_; }

  // Becomes a record that is too long, with nothing else known about it.
  void become_too_long();

  size_t length = 0;   // bytes of the record, its line end included
  uint64_t lines = 0;  // line ends among `length`; the end of the text is one

  SyntaxFault fault = SyntaxFault::none;
  size_t fault_start = 0;    // offset of the faulty field's first byte
  size_t fault_at = 0;       // offset of the byte that should not be there
  bool certain_end = false;  // a faulty record that lies in one line: `length` is known nevertheless

 private:
  friend class RecordScanner;
  struct Field {
    size_t start, begin, size;
    bool copied;  // `begin` is an offset in copies_, where doubled quotes were made single
  };

  std::string_view text_;
  size_t size_ = 0;
  std::vector<Field> fields_;  // no more than the scanner keeps
  std::string copies_;
};

class RecordScanner {
 public:
  // Keeps only the first dialect.columns fields of a record; the further fields are only counted. If dialect.columns is
  // 0, or with `all_fields`, it keeps every field.
  explicit RecordScanner(const CsvDialect& dialect, bool all_fields = false);

  // Cuts the record that starts at text[0] into `record`. False: the record's end is not in `text`, and more text must
  // be read. It is never false with `at_end`, nor if the text is longer than kMaxRecordBytes.
  [[nodiscard]] bool scan(std::string_view text, bool at_end, ScannedRecord& record) const;

 private:
  enum class Step : uint8_t { next_field, end, fault, more };
  struct Cursor {
    std::string_view text;
    bool at_end;
    size_t at = 0;
    size_t start = 0;  // of the field
  };

  Step scan_field(Cursor& cursor, ScannedRecord& record) const;
  Step scan_quoted(Cursor& cursor, ScannedRecord& record) const;
  Step scan_unquoted(Cursor& cursor, ScannedRecord& record) const;
  Step after_quote(Cursor& cursor) const;
  Step skip_rest(Cursor& cursor) const;
  bool find_end(Cursor cursor, ScannedRecord& record) const;
  void add_field(const Cursor& cursor, size_t begin, size_t size, bool copied, ScannedRecord& record) const;

  char delimiter_;
  std::optional<char> quote_;
  size_t columns_;  // how many fields to keep
};

// Where the byte at `offset` of a record stands: how many lines below the record's first line, and the column in its
// line.
struct Spot {
  uint64_t lines = 0;
  int64_t column = 1;
};
Spot spot_of(std::string_view record, size_t offset);

// The kind of a line, as far as its first bytes tell. `more`: the bytes so far do not decide.
enum class LineKind : uint8_t { record, comment, blank, more };
[[nodiscard]] LineKind line_kind(std::string_view text, bool at_end, const CsvDialect& dialect);

}  // namespace millrace
