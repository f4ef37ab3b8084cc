// AppendedFiles: files to which a program appends while it trains. A checkpoint records how long they are. A training
// that goes on from the checkpoint cuts them to that length, so that no line is in them twice or missing.
//
//   files.add("log.jsonl");
//   files.record(numbers.scope("files"));      // between two steps
//   files.check(numbers.scope("files"));       // before the training goes on
//   files.cut(numbers.scope("files"));
//
// Two spellings of one path mean one file (whole_path()). Only regular files are touched, and only those that the
// checkpoint records: any other file may belong to someone else. Used by one thread.
#pragma once

#include <string>
#include <vector>

#include "millrace/core/state.h"

namespace millrace {

class AppendedFiles {
 public:
  void add(const std::string& path);
  const std::vector<std::string>& paths() const { return paths_; }
  // Those that are regular files now.
  std::vector<std::string> present() const;
  // Also records files that are not there yet.
  void record(State& state) const;
  // Throws DataError if a file is shorter than it was, since lines are lost then. A file that is gone begins anew.
  void check(const State& state) const;
  // Those that had bytes and are gone. REQUIRES: check(state).
  std::vector<std::string> gone(const State& state) const;
  // REQUIRES: check(state). Throws IoError.
  void cut(const State& state) const;

 private:
  std::vector<std::string> paths_;  // made by whole_path()
};

}  // namespace millrace
