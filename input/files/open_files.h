// OpenFiles: every format opens its files here, so only this class has to know what a file is wrapped in. The files of
// one source stay open; the least recently used one is closed if too many are open, or if descriptors are few.
//
// Thread-safe. A file stays open as long as someone holds it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "millrace/core/export.h"
#include "millrace/core/threads/mutex.h"
#include "millrace/input/files/file_system.h"

namespace millrace {

class MILLRACE_EXPORT OpenFiles {
 public:
  // `limit`: how many files to keep open. The default is enough to open the files of a small data set only once.
  explicit OpenFiles(FileSystem& files, size_t limit = 64) : files_(files), limit_(limit) {}

  // Opens the file if it is not open yet; a stream is its own file. Throws IoError, also if the file is smaller than it
  // was when it was matched.
  OpenedFile get(const FileEntry& entry);

 private:
  struct Open {
    uint32_t index = 0;  // FileEntry::index
    uint64_t used = 0;   // the number of the last use
    std::shared_ptr<const File> file;
  };

  std::shared_ptr<const File> find(uint32_t index) MILLRACE_REQUIRES(mutex_);

  FileSystem& files_;
  const size_t limit_;
  Mutex mutex_;
  std::vector<Open> open_ MILLRACE_GUARDED_BY(mutex_);  // few, so find() looks through all
  uint64_t uses_ MILLRACE_GUARDED_BY(mutex_) = 0;
};

}  // namespace millrace
