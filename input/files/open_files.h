// OpenFiles: where every format opens its files, so that what a file is wrapped in is dealt with here alone. The files
// of one source stay open; the least recently used is closed when there are too many, or when descriptors are few.
//
// Thread-safe. A file stays open as long as somebody holds it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "millrace/core/export.h"
#include "millrace/core/mutex.h"
#include "millrace/input/files/file_system.h"

namespace millrace {

class MILLRACE_EXPORT OpenFiles {
 public:
  // `limit`: how many files to keep; enough for small data sets to be opened once.
  explicit OpenFiles(FileSystem& files, size_t limit = 64) : files_(files), limit_(limit) {}

  // Opens the file where it is not open yet; a stream is its own file. Throws IoError, also when the file is smaller
  // than it was when it was matched.
  OpenedFile get(const FileEntry& entry);

 private:
  struct Open {
    uint32_t index = 0;  // of its entry
    uint64_t used = 0;   // the number of the last use
    std::shared_ptr<const File> file;
  };

  std::shared_ptr<const File> find(uint32_t index) MILLRACE_REQUIRES(mutex_);

  FileSystem& files_;
  const size_t limit_;
  Mutex mutex_;
  std::vector<Open> open_ MILLRACE_GUARDED_BY(mutex_);  // few, so they are looked through
  uint64_t uses_ MILLRACE_GUARDED_BY(mutex_) = 0;
};

}  // namespace millrace
