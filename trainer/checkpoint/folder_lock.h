// FolderLock: the right to write into a folder, which one training at a time has. The file "checkpoint.lock" in the
// folder says who has it, and stays there. The end of the process gives the lock back, too.
//
// Move-only.
#pragma once

#include <string>

#include "millrace/core/descriptor.h"
#include "millrace/input/files/file_calls.h"

namespace millrace {

class FolderLock {
 public:
  // Throws ConfigError, which names the host and the process, if somebody else has the lock; IoError. A process of this
  // machine that was killed, but has not ended yet, is waited for.
  FolderLock(const std::string& folder, FileCalls& calls);

  // False if the folder's file system knows no locks: nobody can tell then who else is there.
  bool held() const { return held_; }
  // Throws IoError if the folder no longer has the file that was locked: another training may have locked another one.
  void check() const;

 private:
  std::string path_;
  Descriptor file_;
  bool held_ = true;
};

}  // namespace millrace
