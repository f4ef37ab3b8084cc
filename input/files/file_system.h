// FileSystem: the input graph reads files only through it, so that tests can inject short reads, EINTR and EIO.
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
  // The size as it is now.
  virtual uint64_t size() const = 0;
  // The size as it was when the file was opened.
  virtual uint64_t size_at_open() const { return size(); }
  // Whether this file may stay open while nobody reads it, because enough other files can still be opened.
  virtual bool may_stay_open() const { return true; }
  // Reads up to `bytes` bytes at `offset`, and returns how many; fewer only at the end of the file as it is now.
  // Retries EINTR and short reads. Throws IoError with the path.
  virtual size_t read(uint64_t offset, void* to, size_t bytes) const = 0;
};

// Bytes that come once, in order: standard input, a pipe.
class MILLRACE_EXPORT ByteStream {
 public:
  virtual ~ByteStream() = default;
  // Waits for at least one byte, and returns how many were read; 0 at the end, and after interrupt(). Retries EINTR.
  // Throws IoError with the path. One thread at a time.
  virtual size_t read(void* to, size_t bytes) = 0;
  // Makes read() return 0 soon, even a call that is waiting now. From any thread.
  virtual void interrupt() noexcept = 0;
};

struct OpenedFile {
  std::shared_ptr<const File> file;
  bool just_now = false;  // the file was not open before
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
  // The type of `path`, with symbolic links followed; `none` if it is absent or a dangling link.
  virtual Type type(const std::string& path) = 0;
  // The type and size that a file to read has now.
  struct Look {
    Type type = Type::none;
    uint64_t size = 0;  // 0 if it is not a file
  };
  // The type is the same as from type(). Throws what open() would throw if `path` is a file that cannot be opened, or
  // if it lies in a folder whose names can be listed but whose files cannot be reached.
  virtual Look look(const std::string& path) {
    const Type what = type(path);
    return {what, what == Type::file ? open(path)->size() : 0};
  }
  // Whether both paths name the same file, through whatever links.
  virtual bool same(const std::string& a, const std::string& b) { return a == b; }
  // Paths that match `pattern` (`*`, `?`, `[..]`; `*` leaves out hidden files), sorted bytewise.
  virtual std::vector<std::string> match(const std::string& pattern) = 0;
  // Names in a folder, sorted; for the message when nothing matches.
  virtual std::vector<std::string> list(const std::string& folder) = 0;
};

// A file of the graph, as it was when it was matched. Constant; shared by all that use it.
struct FileEntry {
  std::string path;    // as opened, for messages
  uint32_t index = 0;  // its number in the source
  uint64_t size = 0;
  std::shared_ptr<StreamFile> stream = nullptr;  // for data that come once; their size is not known
};

}  // namespace millrace
