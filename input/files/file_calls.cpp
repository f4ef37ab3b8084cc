#include "millrace/input/files/file_calls.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace millrace {

namespace {

FileCalls*& chosen_calls() {
  static FileCalls plain;
  static FileCalls* chosen = &plain;
  return chosen;
}

}  // namespace

FileCalls& FileCalls::system() { return *chosen_calls(); }

void FileCalls::replace_system(FileCalls& calls) { chosen_calls() = &calls; }

bool FileCalls::allowed(std::string_view call) {
  const int code = before(call);
  if (code != 0) errno = code;
  return code == 0;
}

Descriptor FileCalls::open(const std::string& path, int flags) {
  return allowed("open") ? Descriptor(::open(path.c_str(), flags | O_CLOEXEC, 0666)) : Descriptor();
}

Descriptor FileCalls::open_nameless(const std::string& folder) {
  const int flags = O_RDWR | O_TMPFILE | O_CLOEXEC;
  return allowed("open_nameless") ? Descriptor(::open(folder.c_str(), flags, 0666)) : Descriptor();
}

ssize_t FileCalls::write(const Descriptor& file, const void* bytes, size_t count) {
  return allowed("write") ? ::write(file.get(), bytes, count) : -1;
}

int FileCalls::sync(const Descriptor& file) { return allowed("sync") ? ::fsync(file.get()) : -1; }

int FileCalls::close(Descriptor& file) {
  const int released = file.release();
  const bool is_allowed = allowed("close");
  const int code = errno;
  const int result = ::close(released);
  if (is_allowed) return result;
  errno = code;
  return -1;
}

int FileCalls::link(const std::string& from, const std::string& to) {
  return allowed("link") ? ::linkat(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), AT_SYMLINK_FOLLOW) : -1;
}

int FileCalls::rename(const std::string& from, const std::string& to) {
  return allowed("rename") ? std::rename(from.c_str(), to.c_str()) : -1;
}

int FileCalls::unlink(const std::string& path) { return allowed("unlink") ? ::unlink(path.c_str()) : -1; }

int FileCalls::make_folder(const std::string& path) {
  return allowed("make_folder") ? ::mkdir(path.c_str(), 0777) : -1;
}

int write_all(FileCalls& calls, const Descriptor& file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = calls.write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

}  // namespace millrace
