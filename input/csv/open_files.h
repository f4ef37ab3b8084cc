// OpenFiles: the files of a stream that are open now; the least recently used is closed when there are too many, or
// when descriptors are few.
//
// Thread-safe. A file stays open as long as somebody holds it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "millrace/core/mutex.h"
#include "millrace/input/files/file_system.h"
#include "millrace/input/rows/chunk.h"

namespace millrace {

class OpenFiles {
 public:
  // `limit`: how many files to keep.
  OpenFiles(FileSystem& files, size_t limit) : files_(files), limit_(limit) {}

  struct Opened {
    std::shared_ptr<const File> file;
    bool just_now = false;
  };
  // Opens the file where it is not open yet. Throws IoError, also when the file is smaller than it was when it was
  // matched.
  Opened get(const FileEntry& entry);

 private:
  struct Open {
    uint32_t index = 0;  // of its entry
    uint64_t used = 0;   // the number of the last use
    std::shared_ptr<const File> file;
  };

  std::shared_ptr<const File> find(uint32_t index);
  std::shared_ptr<const File> find_locked(uint32_t index) MILLRACE_REQUIRES(mutex_);

  FileSystem& files_;
  const size_t limit_;
  Mutex mutex_;
  std::vector<Open> open_ MILLRACE_GUARDED_BY(mutex_);  // few, so they are looked through
  uint64_t uses_ MILLRACE_GUARDED_BY(mutex_) = 0;
};

}  // namespace millrace
