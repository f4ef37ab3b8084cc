#include "millrace/input/files/links.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"

namespace millrace {

namespace {

constexpr int kMostLinks = 40;

// Whether the system finds a file by `path`, but not the same file by `end`, the name to which the links of `path`
// lead.
bool has_no_name(const std::string& path, const std::string& end) {
  struct stat status {
  }, of_end{};
  if (::stat(path.c_str(), &status) != 0) return false;
  const bool same =
      ::stat(end.c_str(), &of_end) == 0 && of_end.st_dev == status.st_dev && of_end.st_ino == status.st_ino;
  return !same;
}

}  // namespace

std::string follow_links(const std::string& path) {
  std::string at = path;
  for (int links = 0; links <= kMostLinks; ++links) {
    std::error_code no_link;
    const std::filesystem::path to = std::filesystem::read_symlink(at, no_link);
    if (no_link) {
      if (!has_no_name(path, at)) return at;
      throw IoError("cannot write: it is a link to a file that has no name any more", {path});
    }
    at = (std::filesystem::path(at).parent_path() / to).string();
  }
  throw IoError(cat("cannot write: ", errno_text(ELOOP)), {path});
}

std::string missing_folder_hint(const std::string& path, int code) {
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (folder.empty()) folder = ".";
  std::error_code ignored;
  if (code != ENOENT || std::filesystem::exists(folder, ignored)) return {};
  return cat("make the folder ", quote(folder.string(), 300), " first");
}

}  // namespace millrace
