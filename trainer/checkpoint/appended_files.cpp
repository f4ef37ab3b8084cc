#include "millrace/trainer/checkpoint/appended_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <optional>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/files/whole_path.h"

namespace millrace {

namespace {

constexpr const char* kBytes = "bytes";

// The size of a regular file; `missing` if there is no file; empty for anything else.
std::optional<uint64_t> bytes_of_file(const std::string& path, std::optional<uint64_t> missing = {}) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return errno == ENOENT ? missing : std::nullopt;
  if (!S_ISREG(status.st_mode)) return {};
  return static_cast<uint64_t>(status.st_size);
}

}  // namespace

void AppendedFiles::add(const std::string& path) { paths_.push_back(whole_path(path)); }

std::vector<std::string> AppendedFiles::present() const {
  std::vector<std::string> out;
  for (const std::string& path : paths_) {
    if (bytes_of_file(path)) out.push_back(path);
  }
  return out;
}

void AppendedFiles::record(State& state) const {
  for (const std::string& path : paths_) {
    if (const std::optional<uint64_t> bytes = bytes_of_file(path, 0)) state.scope(path).set(kBytes, *bytes);
  }
}

void AppendedFiles::check(const State& state) const {
  for (const std::string& path : paths_) {
    const std::optional<uint64_t> now = bytes_of_file(path);
    if (!now || !state.has(path)) continue;
    const auto then = state.scope(path).count(kBytes);
    if (*now >= then) continue;
    throw DataError(cat("the file has ", *now, " bytes, but there were ", then, " when the checkpoint was made"),
                    {path, 0, 0}, cat("move ", path, " away to go on with another one"));
  }
}

std::vector<std::string> AppendedFiles::gone(const State& state) const {
  std::vector<std::string> out;
  for (const std::string& path : paths_) {
    if (state.has(path) && state.scope(path).count(kBytes) > 0 && bytes_of_file(path, 0) == uint64_t{0})
      out.push_back(path);
  }
  return out;
}

void AppendedFiles::cut(const State& state) const {
  for (const std::string& path : present()) {
    if (!state.has(path)) continue;
    if (::truncate(path.c_str(), static_cast<off_t>(state.scope(path).count(kBytes))) == 0) continue;
    throw IoError(cat("cannot shorten the file to what it was: ", errno_text(errno)), {path, 0, 0});
  }
}

}  // namespace millrace
