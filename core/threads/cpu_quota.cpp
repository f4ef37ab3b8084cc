#include "millrace/core/threads/cpu_quota.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <limits>
#include <optional>
#include <string_view>

namespace millrace {

namespace {

// The first line of a file; empty when it cannot be read.
std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The number that `text` begins with; `text` then begins behind it and one more character.
std::optional<int64_t> take_number(std::string_view& text) {
  int64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc()) return std::nullopt;
  text.remove_prefix(std::min(static_cast<size_t>(end - text.data()) + 1, text.size()));
  return value;
}

// "max 100000" and -1 mean that there is no quota.
int processors(std::optional<int64_t> quota, std::optional<int64_t> period) {
  if (!quota || !period || *quota <= 0 || *period <= 0) return 0;
  const int64_t whole = *quota / *period + (*quota % *period != 0 ? 1 : 0);
  return static_cast<int>(std::min<int64_t>(whole, std::numeric_limits<int>::max()));
}

int quota_of_version_2(const std::string& folder) {
  const std::string line = first_line(folder + "/cpu.max");
  std::string_view text = line;
  const std::optional<int64_t> quota = take_number(text);
  return processors(quota, take_number(text));
}

int quota_of_version_1(const std::string& folder) {
  const std::string quota = first_line(folder + "/cpu.cfs_quota_us"),
                    period = first_line(folder + "/cpu.cfs_period_us");
  std::string_view quota_text = quota, period_text = period;
  return processors(take_number(quota_text), take_number(period_text));
}

// The smallest quota of the group `path` and of those around it, up to the one mounted at `root`. A container often
// sees its own group there, while `path` is that of the machine: folders that are not there have no quota.
template <class Quota>
int smallest_quota(const std::string& root, std::string_view path, const Quota& quota) {
  int smallest = 0;
  for (;;) {
    const int here = quota(root + std::string(path));
    if (here > 0 && (smallest == 0 || here < smallest)) smallest = here;
    if (path.empty()) return smallest;
    path = path.substr(0, path.rfind('/'));
  }
}

// Whether `controllers`, "cpu,cpuacct", has the CPU's among them.
bool has_cpu(std::string_view controllers) {
  while (!controllers.empty()) {
    const size_t end = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, end) == "cpu") return true;
    controllers.remove_prefix(std::min(end + 1, controllers.size()));
  }
  return false;
}

}  // namespace

int quota_threads(const CgroupPaths& paths) {
  std::ifstream membership(paths.membership);
  int smallest = 0;
  // "0::/group" for version 2, "4:cpu,cpuacct:/group" for a hierarchy of version 1.
  for (std::string line; std::getline(membership, line);) {
    const size_t controllers = line.find(':'), path = line.find(':', controllers + 1);
    if (controllers == line.npos || path == line.npos) continue;
    const std::string_view group = std::string_view(line).substr(path + 1);
    // A group outside what this process may see is written with dots: "/../other".
    if (!group.starts_with('/') || group.find("/..") != group.npos) continue;
    const std::string_view names = std::string_view(line).substr(controllers + 1, path - controllers - 1);
    int quota = 0;
    if (names.empty()) quota = smallest_quota(paths.root, group, quota_of_version_2);
    if (has_cpu(names)) quota = smallest_quota(paths.root + "/cpu", group, quota_of_version_1);
    if (quota > 0 && (smallest == 0 || quota < smallest)) smallest = quota;
  }
  return smallest;
}

}  // namespace millrace
