// AtomicFile: a file that appears whole or not at all. It is written under another name in the same folder, synced and
// renamed by commit(); without commit() nothing remains.
//
//   AtomicFile file("model.safetensors");
//   file.write(bytes);
//   file.commit();
//
// Used by one thread. A link is followed; the mode of a file that is replaced is kept.
#pragma once

#include <string>
#include <string_view>

#include "millrace/core/descriptor.h"

namespace millrace {

class AtomicFile {
 public:
  // Throws IoError when the folder cannot be written, or `path` is there and is not a regular file.
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // Throw IoError with the path and the reason.
  void write(std::string_view bytes);
  void commit();

 private:
  [[noreturn]] void fail(int code) const;

  std::string path_;       // as given, for messages
  std::string target_;     // links followed
  std::string temporary_;  // empty after commit()
  Descriptor file_;
};

// Writes all of `bytes`. The result is 0, or the errno of the write that failed.
int write_all(int descriptor, std::string_view bytes);

// Throws IoError when an AtomicFile for `path` could not be made now. Leaves nothing behind.
void check_writable(const std::string& path);

}  // namespace millrace
