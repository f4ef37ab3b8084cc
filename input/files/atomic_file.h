// AtomicFile: a file that appears whole or not at all. It is written without a name, synced, and named by commit();
// without commit() nothing remains, even if the program is killed. Where the file system knows no files without a name,
// it is written as NAME.PID-0.tmp in the same folder, which only a killed program leaves behind. A file that replaces
// another one has such a name for the moment before it takes the other's.
//
//   AtomicFile file("model.safetensors");
//   file.write(bytes);
//   file.commit();
//
// Used by one thread. Links are followed; the mode of a file that is replaced is kept.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "millrace/core/descriptor.h"
#include "millrace/input/files/file_calls.h"

namespace millrace {

class AtomicFile {
 public:
  // Throws IoError when the folder cannot be written, `path` is there and is not a regular file, or its links are a
  // loop. REQUIRES: `calls` outlives the file.
  explicit AtomicFile(const std::string& path, FileCalls& calls = FileCalls::system());
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // Throw IoError with the path and the reason. If commit() throws, the file may be there nevertheless; it is whole
  // then.
  void write(std::string_view bytes);
  void commit();
  // Fills `bytes` with what was written at `offset`. REQUIRES: no commit() before. Throws IoError.
  void read(uint64_t offset, std::span<char> bytes) const;

 private:
  [[noreturn]] void fail(int code) const;
  template <class Make>
  bool make_temporary(const Make& make);
  void open_with_name();
  void give_name();
  void copy_to_name();
  void sync_folder();

  FileCalls& calls_;
  std::string path_;       // as given, for messages
  std::string target_;     // where the links of path_ lead
  std::string temporary_;  // the file's name until commit() is done; empty: it has none
  bool replaces_ = false;
  Descriptor file_;
};

// The process whose AtomicFile for the name `of` made the temporary file `name`; empty if `name` is not such a name.
// Names have no folders.
std::optional<pid_t> writer_of_temporary(std::string_view name, std::string_view of);

// Throws IoError when an AtomicFile for `path` could not be made now. Leaves nothing behind.
void check_writable(const std::string& path);

}  // namespace millrace
