// AppendedFiles: files to which a program appends while it trains. A checkpoint records how long they are, and a
// training that goes on from it cuts them to that length, so that no line is in them twice or missing.
//
//   files.add("log.jsonl");
//   files.record(numbers.scope("files"));      // between two steps
//   files.check(numbers.scope("files"));       // before the training goes on
//   files.cut(numbers.scope("files"));
//
// They are known by their paths, however these are spelled. Anything but a regular file is left alone, and so is a file
// that is not on record, which may be of somebody else. Used by one thread.
#pragma once

#include <string>
#include <vector>

#include "millrace/core/state.h"

namespace millrace {

class AppendedFiles {
 public:
  void add(const std::string& path);
  // Those that are regular files now: what record() records.
  std::vector<std::string> present() const;
  void record(State& state) const;
  // Throws DataError if a file is shorter than it was: what was in it is lost. A file that is gone begins anew.
  void check(const State& state) const;
  // REQUIRES: check(state). Throws IoError.
  void cut(const State& state) const;

 private:
  std::vector<std::string> paths_;  // whole
};

}  // namespace millrace
