#include "millrace/input/sources/file_ranges.h"

#include <algorithm>

namespace millrace {

void FileRanges::start(const Unit& file, const Position& position) {
  file_ = file;
  at_ = position.offset;
  line_ = position.line;
  ended_ = at_ > 0 && at_ >= file.end;
}

void FileRanges::clear() {
  file_ = {};
  ended_ = true;
}

bool FileRanges::next(Unit& unit) {
  if (ended_) return false;
  const bool is_first = line_ > 0;
  unit = file_;
  unit.begin = at_;
  if (file_.file->stream) {
    unit.part = file_.file->stream->take();
    ended_ = !unit.part;
    if (ended_ && !is_first) return false;
    unit.end = ended_ ? at_ : unit.part->end();
  } else {
    unit.end = std::min(file_.end, (at_ / unit_bytes_ + 1) * unit_bytes_);
    ended_ = unit.end >= file_.end;
  }
  unit.exact = is_first;
  unit.line = line_;
  at_ = unit.end;
  line_ = 0;
  return true;
}

}  // namespace millrace
