// OpenFiles: every format opens its files here, so only this class has to know what a file is wrapped in. The files of
// one source stay open; the least recently used one is closed if too many are open, or if descriptors are few. Tasks
// take turns to have a file open, so that the descriptors do not run out, however many files there are. Checks say
// whether a matched file has changed: its size while it is read, its content when a saved run goes on.
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

// How many descriptors this process may have (`ulimit -n`).
uint64_t most_descriptors();

// The right of a task to have a file open:
//
//   const ReadingTurn turn;  // waits while too many others have a turn
//
// There are as many turns as a quarter of the descriptors, at least 1; all threads of the process share them.
// REQUIRES: a task that has a turn waits for no other task.
class ReadingTurn {
 public:
  ReadingTurn();
  ~ReadingTurn();
  ReadingTurn(const ReadingTurn&) = delete;
  ReadingTurn& operator=(const ReadingTurn&) = delete;
};

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

// A digest that is kept to notice later that a file has changed: 64-bit FNV-1a of its first and of its last block.
struct FileDigest {
  // Bytes of a block; a smaller file is one block as a whole.
  static constexpr uint64_t kBlockBytes = 4096;

  uint64_t first = 0, last = 0;
};

// The digest of the first entry.size bytes of the file. Reads two blocks. Throws an IoError that names the file, also
// if the file is shorter now.
FileDigest digest_of(const FileEntry& entry, FileSystem& files);

// Throws the error for a file that now has only `size` bytes, fewer than when it was matched.
[[noreturn]] void throw_shrunk(const FileEntry& entry, uint64_t size);

}  // namespace millrace
