// FileRanges: the units of one file: its byte ranges, cut at multiples of a size; or a stream's parts.
#pragma once

#include <cstdint>

#include "millrace/input/files/stream_file.h"
#include "millrace/input/source.h"

namespace millrace {

class FileRanges final : public Units {
 public:
  explicit FileRanges(uint64_t unit_bytes) : unit_bytes_(unit_bytes) {}

  // Begins with `file`, a unit of a whole file, at the offset and line of `position`, where a record starts.
  void start(const Unit& file, const Position& position = {});
  // Forgets the file.
  void clear();
  // False at its end. From its start on, an empty file has a unit too: so every pass has one.
  bool next(Unit& unit) override;
  bool ready() noexcept override { return ended_ || !file_.file->stream || file_.file->stream->ready(); }
  // Whether next() would say that there is none. False while nobody knows.
  bool at_end() const { return ended_ || (line_ == 0 && file_.file->stream && file_.file->stream->at_end()); }

 private:
  const uint64_t unit_bytes_;
  Unit file_;
  uint64_t at_ = 0;    // where the next range begins
  uint64_t line_ = 0;  // the line of at_, where that is known to be the start of a record; else 0
  bool ended_ = true;
};

}  // namespace millrace
