#include "millrace/input/sources/file_units.h"

namespace millrace {

void FileUnits::start(const Unit& file, const Position& position) {
  file_ = file;
  at_ = position.offset;
  line_ = position.line;
  ended_ = at_ > 0 && at_ >= file.end;
}

void FileUnits::clear() {
  file_ = {};
  ended_ = true;
}

bool FileUnits::next(Unit& unit) {
  if (ended_) return false;
  unit = file_;
  unit.begin = at_;
  unit.exact = line_ > 0;
  unit.line = line_;
  if (file_.file->stream) {
    unit.part = file_.file->stream->take();
    ended_ = !unit.part;
    if (ended_ && !unit.exact) return false;
    unit.end = ended_ ? at_ : unit.part->end();
  } else {
    ended_ = !format_.cut(unit);
  }
  at_ = unit.end;
  line_ = 0;
  return true;
}

}  // namespace millrace
