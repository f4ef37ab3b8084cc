// AppendFile: a regular file that gets one line after another at its end. A line is whole, even if other programs
// append to the same file at the same time, and is in the file when append() returns.
//
// Used by one thread at a time.
#pragma once

#include <string>
#include <string_view>

#include "millrace/core/descriptor.h"

namespace millrace {

class AppendFile {
 public:
  // Throws the IoError that the constructor would throw now, as far as it can be known without changing anything.
  static void check(const std::string& path);

  // Makes the file if it is not there; takes away what is in it unless it `goes_on`. Throws IoError, also if `path` is
  // there and is not a regular file: a pipe might never have room.
  AppendFile(const std::string& path, bool goes_on);
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  // Throws IoError with the reason; a part of the line may then be in the file.
  void append(std::string_view line);

 private:
  const std::string path_;
  const Descriptor file_;
};

}  // namespace millrace
