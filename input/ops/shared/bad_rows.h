// Bad rows: what the ops that decode rows share about rows that they cannot decode. DecodingTransform is their base.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "millrace/core/options.h"
#include "millrace/input/files/append_file.h"
#include "millrace/input/transform.h"

namespace millrace {

enum class OnBadRow { fail, skip };
template <>
struct EnumNames<OnBadRow> {
  static constexpr std::pair<std::string_view, OnBadRow> kNames[] = {{"fail", OnBadRow::fail},
                                                                     {"skip", OnBadRow::skip}};
};

struct BadRowOptions {
  OnBadRow on_bad_row = OnBadRow::fail;
  std::optional<int64_t> max_bad_rows = {};
  std::optional<std::string> bad_rows_file = {};
  void declare(OptionReader& o);
};

// A JSON line for every row that was left out because of its faults:
//
//   {"v":1,"file":"d/a.csv","line":4,"column":3,"field":"features","text":"abc","reason":"column 2 (features): .."}
//
// `line` and `column` are null if the whole file is the row; `field` and `text` are null if no single value is at
// fault. The file is replaced when the first row is written, unless it is resumed.
class BadRowsFile {
 public:
  explicit BadRowsFile(std::string path) : path_(std::move(path)) {}

  // Throws IoError if a row could not be written now.
  void check() const;
  void add(const BadRow& row);
  // Keeps the first `rows` lines of the file that an earlier run left, and goes on after them; if the file is gone, it
  // begins anew.
  void resume(uint64_t rows);

 private:
  void open(bool goes_on);

  const std::string path_;
  std::optional<AppendFile> out_;
};

class DecodingTransform : public Transform {
 public:
  explicit DecodingTransform(const BadRowOptions& options);

  void report(const BadRow& row) override {
    if (file_) file_->add(row);
  }
  void resume_reports(uint64_t reports) override {
    if (file_) file_->resume(reports);
  }
  uint64_t note_bytes() const override { return skips_ ? sizeof(Note) + kNoteText : 0; }

 protected:
  // Called in bind(). Throws IoError if bad rows could not be written to their file.
  void check_report() const {
    if (file_) file_->check();
  }
  // Whether bad rows are left out. If not, each is an error.
  bool skips_bad_rows() const { return skips_; }
  // The note of a bad row that stands before row `row`.
  Note bad_row(int64_t row, std::string reason) const {
    return {.kind = Note::Kind::bad_row, .row = row, .text = std::move(reason), .limit = most_};
  }

 private:
  // Of a reason with what it quotes, and a path. A bad value's whole text is kept, too, but that is text of the chunk.
  static constexpr uint64_t kNoteText = 1024;

  const bool skips_;
  const uint64_t most_;
  std::optional<BadRowsFile> file_;
};

}  // namespace millrace
