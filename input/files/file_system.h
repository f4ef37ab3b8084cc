// FileSystem: the one way in which the input graph touches files, so that tests can inject short reads, EINTR and EIO.
//
// Thread-safe: any thread may use a FileSystem, and read from one File, at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "millrace/core/export.h"

namespace millrace {

class StreamFile;

class MILLRACE_EXPORT File {
 public:
  virtual ~File() = default;
  // As it is now.
  virtual uint64_t size() const = 0;
  // As it was when it was opened.
  virtual uint64_t size_at_open() const { return size(); }
  // Whether enough others can be opened while this one is open and nobody reads it.
  virtual bool may_stay_open() const { return true; }
  // Up to `bytes` bytes at `offset`; fewer only at the end of the file as it is now. Retries EINTR and short reads.
  // Throws IoError with the path.
  virtual size_t read(uint64_t offset, void* to, size_t bytes) const = 0;
};

// Bytes that come once, in order: standard input, a pipe.
class MILLRACE_EXPORT ByteStream {
 public:
  virtual ~ByteStream() = default;
  // Waits for at least one byte; 0 at the end, and after interrupt(). Retries EINTR. Throws IoError with the path. One
  // thread at a time.
  virtual size_t read(void* to, size_t bytes) = 0;
  // Makes read() return 0 soon, also one that waits now. From any thread.
  virtual void interrupt() noexcept = 0;
};

struct OpenedFile {
  std::shared_ptr<const File> file;
  bool just_now = false;  // it was not open before
};

class MILLRACE_EXPORT FileSystem {
 public:
  virtual ~FileSystem() = default;
  // The ordinary files of this machine.
  static FileSystem& local();

  // Throws IoError with the path and the reason.
  virtual std::unique_ptr<File> open(const std::string& path) = 0;
  // "-" is standard input, everywhere.
  virtual std::unique_ptr<ByteStream> open_stream(const std::string& path) = 0;
  enum class Type { none, file, folder, stream, other };
  // What `path` is, symbolic links followed; `none` when it is absent or a dangling link.
  virtual Type type(const std::string& path) = 0;
  // What a file that will be read is now.
  struct Look {
    Type type = Type::none;
    uint64_t size = 0;  // of a file
  };
  // As type(). Throws what open() would where `path` is a file that cannot be opened, or in a folder of which only the
  // names are known.
  virtual Look look(const std::string& path) {
    const Type what = type(path);
    return {what, what == Type::file ? open(path)->size() : 0};
  }
  // Whether both name one file, by whatever links.
  virtual bool same(const std::string& a, const std::string& b) { return a == b; }
  // Paths that match `pattern` (`*`, `?`, `[..]`; `*` leaves out hidden files), sorted bytewise.
  virtual std::vector<std::string> match(const std::string& pattern) = 0;
  // Names in a folder, sorted; for the message of an empty match.
  virtual std::vector<std::string> list(const std::string& folder) = 0;
};

// A file of the graph, as it was when it was matched. Constant; shared by whoever works on it.
struct FileEntry {
  std::string path;    // as opened, for messages
  uint32_t index = 0;  // its number in the source
  uint64_t size = 0;
  std::shared_ptr<StreamFile> stream = nullptr;  // of data that come once: then nobody knows the size
};

}  // namespace millrace
