// FileCalls: the system calls by which files are written, so that a test, or a trial of resuming, can let any of them
// fail or be the last one of a program.
//
//   struct FullDisk final : FileCalls {
//     int before(std::string_view call) override { return call == "write" ? ENOSPC : 0; }
//   };
//
// Every function returns what the system's function of that name does, and sets errno. Thread-safe, as far as before()
// is.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "millrace/core/descriptor.h"

namespace millrace {

class FileCalls {
 public:
  FileCalls() = default;
  virtual ~FileCalls() = default;
  FileCalls(const FileCalls&) = delete;
  FileCalls& operator=(const FileCalls&) = delete;

  // The calls of the system, which never fail on purpose, unless the program has replaced them.
  static FileCalls& system();
  // Makes system() return `calls` from now on. For programs that fail on purpose, not for libraries. REQUIRES: nothing
  // was written yet, and `calls` lives until the program ends.
  static void replace_system(FileCalls& calls);

  // Files are made with the mode that the umask leaves. Nothing is open if it fails.
  Descriptor open(const std::string& path, int flags);
  // Makes a file without a name in `folder`.
  Descriptor open_nameless(const std::string& folder);
  ssize_t write(const Descriptor& file, const void* bytes, size_t count);
  // Brings a file, or a folder with its names, to the disk.
  int sync(const Descriptor& file);
  int close(Descriptor& file);
  // Gives a second name to the file that `from` leads to, links followed.
  int link(const std::string& from, const std::string& to);
  int rename(const std::string& from, const std::string& to);
  int unlink(const std::string& path);
  int make_folder(const std::string& path);

 protected:
  // Called before each call, with its name above. 0 lets it happen; else it fails with this errno.
  virtual int before(std::string_view /*call*/) { return 0; }

 private:
  bool allowed(std::string_view call);
};

// Writes all of `bytes`, in one call if the system takes them so. The result is 0, or the errno of the write that
// failed.
int write_all(FileCalls& calls, const Descriptor& file, std::string_view bytes);

}  // namespace millrace
