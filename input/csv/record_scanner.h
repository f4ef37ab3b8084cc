// RecordScanner: cuts one record into fields by RFC 4180, byte by byte: the exact path, for records with quotes.
//
// Records without quotes are cut by a TextIndex; both give the same fields, places and faults. Constant after
// construction, so any thread may use one; a ScannedRecord belongs to one thread and is reused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/input/csv/csv_dialect.h"

namespace millrace {

// A record may have this many bytes before its line end.
inline constexpr size_t kMaxRecordBytes = 16u << 20;

enum class SyntaxFault : uint8_t { none, quote_in_field, text_after_quote, unterminated_quote, too_long };

class ScannedRecord {
 public:
  size_t size() const { return size_; }
  // The field's bytes, unquoted. Valid while the scanned text is, until the next scan. REQUIRES: index < size(), and <
  // the number of fields that the scanner keeps.
  std::string_view field(size_t index) const {
    const Field& field = fields_[index];
    return {(field.copied ? copies_.data() : text_.data()) + field.begin, field.size};
  }
  // Offset in the record of the field's first byte, its quote included.
  size_t start(size_t index) const { return fields_[index].start; }
  // What was scanned, from the record's first byte on.
  std::string_view text() const { return text_; }

  // Becomes a record of which nothing is known but that it is too long.
  void become_too_long();

  size_t length = 0;   // bytes of the record, its line end included
  uint64_t lines = 0;  // line ends among `length`; the end of the text is one

  SyntaxFault fault = SyntaxFault::none;
  size_t fault_start = 0;    // offset of the faulty field's first byte
  size_t fault_at = 0;       // offset of the byte that should not be there
  bool certain_end = false;  // a faulty record that lies in one line: `length` is known all the same

 private:
  friend class RecordScanner;
  struct Field {
    size_t start, begin, size;
    bool copied;  // `begin` counts in copies_: doubled quotes were made single
  };

  std::string_view text_;
  size_t size_ = 0;
  std::vector<Field> fields_;  // no more than the records should have
  std::string copies_;
};

class RecordScanner {
 public:
  // Of records with more fields than dialect.columns only so many are kept, and the number is known; where that is 0,
  // and with `all_fields`, every field is.
  explicit RecordScanner(const CsvDialect& dialect, bool all_fields = false);

  // Cuts the record that starts at text[0] into `record`. False: the record's end is not in `text` and more text must
  // be read; never so when `at_end`, nor when the text is longer than kMaxRecordBytes.
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
  size_t columns_;  // fields to hold
};

// Where the byte at `offset` of a record stands: lines below the record's first, and column in its line.
struct Spot {
  uint64_t lines = 0;
  int64_t column = 1;
};
Spot spot_of(std::string_view record, size_t offset);

// What a record's first bytes say of it. `more`: they cannot be told apart yet.
enum class LineKind : uint8_t { record, comment, blank, more };
[[nodiscard]] LineKind line_kind(std::string_view text, bool at_end, const CsvDialect& dialect);

}  // namespace millrace
