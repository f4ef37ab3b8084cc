// FileUnits: the units of one file after another, as a format cuts them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "millrace/core/export.h"
#include "millrace/input/compressed/text_units.h"
#include "millrace/input/files/stream_file.h"
#include "millrace/input/source.h"

namespace millrace {

// The next file of the format's names, as a unit of the whole; false after the last.
bool next_file(const FileSource& format, Unit& file);

// The file that a saved position is in, as a unit of the whole; the names go on after it. Throws DataError if the names
// have no such file, or if the file has no such offset.
Unit file_at(const FileSource& format, const Position& position);

class MILLRACE_EXPORT FileUnits final : public Units {
 public:
  explicit FileUnits(const FileSource& format) : format_(format) {}

  // Begins with `file`, a unit of a whole file, at the offset and line of `position`. REQUIRES: a record starts there,
  // and the file reaches there.
  void start(const Unit& file, const Position& position = {});
  // Forgets the file.
  void clear();
  // False at the file's end. A file that is cut from its start has a unit even if it is empty, so every pass has one.
  bool next(Unit& unit) override;
  bool ready() noexcept override { return ended_ || !file_.file->stream || file_.file->stream->ready(); }
  // Ends the way through compressed text to where the units begin.
  void interrupt() noexcept override { interrupted_.store(true); }
  // Whether next() would return false. False while that is not known.
  bool at_end() const { return ended_ || (line_ == 0 && file_.file->stream && file_.file->stream->at_end()); }

 private:
  std::unique_ptr<TextUnits> units_of_text() const;

  const FileSource& format_;
  Unit file_;
  std::unique_ptr<TextUnits> text_;  // of a compressed file
  std::atomic<bool> interrupted_{false};
  uint64_t at_ = 0;    // where the next unit begins
  uint64_t line_ = 0;  // the line of at_, if at_ is known to be the start of a record; else 0
  bool ended_ = true;
};

}  // namespace millrace
