#include "millrace/trainer/files/files_in_use.h"

#include <link.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "millrace/core/text.h"

namespace millrace {

bool same_file(const std::string& path, const std::string& other) {
  FileSystem& files = FileSystem::local();
  if (files.same(path, other)) return true;
  if (files.type(path) != FileSystem::Type::none || files.type(other) != FileSystem::Type::none) return false;
  if (path.empty() || other.empty()) return false;
  std::error_code failure;
  const std::filesystem::path real = std::filesystem::weakly_canonical(std::filesystem::absolute(path), failure);
  return !failure && real == std::filesystem::weakly_canonical(std::filesystem::absolute(other), failure);
}

std::string first_shared(std::span<const std::string> others, std::span<const std::string> paths) {
  std::set<std::pair<dev_t, ino_t>> known;
  struct stat status {};
  for (const std::string& path : others) {
    if (::stat(path.c_str(), &status) == 0) known.emplace(status.st_dev, status.st_ino);
  }
  for (const std::string& path : paths) {
    if (::stat(path.c_str(), &status) == 0 && known.contains({status.st_dev, status.st_ino})) return path;
  }
  return {};
}

namespace {

// Whether `path` is this program, or a library or plug-in that it has loaded.
bool is_running(const std::string& path) {
  struct Search {
    struct stat wanted {};
    bool found = false;
  } search;
  if (::stat(path.c_str(), &search.wanted) != 0) return false;
  ::dl_iterate_phdr(
      [](dl_phdr_info* loaded, size_t, void* data) {
        Search& of = *static_cast<Search*>(data);
        const char* const name = *loaded->dlpi_name == '\0' ? "/proc/self/exe" : loaded->dlpi_name;
        struct stat status {};
        const bool there = ::stat(name, &status) == 0;
        of.found = there && status.st_dev == of.wanted.st_dev && status.st_ino == of.wanted.st_ino;
        return of.found ? 1 : 0;
      },
      &search);
  return search.found;
}

}  // namespace

std::string would_overwrite(const std::string& path, const InputFiles& files, const std::string& config) {
  const auto message = [&](std::span<const std::string> others, std::string_view use) {
    const auto same = std::ranges::find_if(others, [&](const std::string& file) { return same_file(path, file); });
    return same == others.end() ? std::string() : cat("would overwrite ", quote(*same, 4096), ", which this run ", use);
  };
  std::string loss = message(std::span(&config, 1), "reads");
  if (loss.empty()) loss = message(files.read, "reads");
  if (loss.empty()) loss = message(files.written, "writes");
  if (loss.empty() && is_running(path)) loss = cat("would overwrite ", quote(path, 4096), ", which is running");
  return loss;
}

bool is_among_checkpoints(const std::string& path, const std::string& folder) {
  const std::filesystem::path file(path);
  const std::filesystem::path parent = file.has_parent_path() ? file.parent_path() : ".";
  return file.filename().string().starts_with("checkpoint") && same_file(parent.string(), folder);
}

}  // namespace millrace
