// AtomicFile: a file that appears whole or not at all. It is written without a name, synced, and named by commit();
// without commit() nothing remains, even if the program is killed. Where the file system knows no files without a name,
// it is written as NAME.PID-0.tmp in the same folder, which only a killed program leaves behind.
//
//   AtomicFile file("model.safetensors");
//   file.write(bytes);
//   file.commit();
//
// Used by one thread. Links are followed; the mode of a file that is replaced is kept.
#pragma once

#include <string>
#include <string_view>

#include "millrace/core/descriptor.h"

namespace millrace {

class AtomicFile {
 public:
  // Throws IoError when the folder cannot be written, `path` is there and is not a regular file, or its links are a
  // loop.
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // Throw IoError with the path and the reason.
  void write(std::string_view bytes);
  void commit();

 private:
  [[noreturn]] void fail(int code) const;
  template <class Make>
  bool make_temporary(const Make& make);
  void open_with_name();
  void give_name();
  void copy_to_name();

  std::string path_;       // as given, for messages
  std::string target_;     // links followed
  std::string temporary_;  // the name that the file has before commit() is done; empty: none
  Descriptor file_;
};

// Throws IoError when an AtomicFile for `path` could not be made now. Leaves nothing behind.
void check_writable(const std::string& path);

}  // namespace millrace
