#include "millrace/trainer/files/read_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <vector>

#include "millrace/core/descriptor.h"
#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace {

namespace {

std::string near_hint(const std::string& path) {
  const std::filesystem::path wanted(path);
  const std::filesystem::path folder = wanted.has_parent_path() ? wanted.parent_path() : std::filesystem::path(".");
  std::error_code failure;
  std::vector<std::string> names;
  for (std::filesystem::directory_iterator entry(folder, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    names.push_back(entry->path().filename().string());
  }
  if (failure) return cat("there is no folder ", quote(folder.string(), 300));
  std::sort(names.begin(), names.end());
  const std::string near = nearest(wanted.filename().string(), names);
  return near.empty() ? std::string() : cat("did you mean ", (wanted.parent_path() / near).string(), "?");
}

[[noreturn]] void throw_missing(const std::string& path, std::string_view what, int code) {
  throw MissingError(cat("cannot read ", what, ": ", errno_text(code)), {path, 0, 0},
                     code == ENOENT ? near_hint(path) : std::string());
}

}  // namespace

std::string read_file(const std::string& path, size_t limit, std::string_view what) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) throw_missing(path, what, errno);
  std::string bytes;
  for (;;) {
    constexpr size_t kStep = size_t{64} * 1024;
    const size_t before = bytes.size();
    const size_t wanted = std::min(kStep, limit - before);
    if (wanted == 0) return bytes;
    bytes.resize(before + wanted);
    ssize_t got = 0;
    do {
      got = ::read(file.get(), bytes.data() + before, wanted);
    } while (got < 0 && errno == EINTR);
    if (got < 0) throw_missing(path, what, errno);
    bytes.resize(before + static_cast<size_t>(got));
    if (got == 0) return bytes;
  }
}

}  // namespace millrace
