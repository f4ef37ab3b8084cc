#include "millrace/core/threads/cpu_quota.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <locale>
#include <string_view>

#include "millrace/core/sizes.h"
#include "millrace/core/text.h"

namespace millrace {

namespace {

// Opens a file of numbers, which are the same in every locale.
std::ifstream numbers(const std::string& path) {
  std::ifstream file(path);
  file.imbue(std::locale::classic());
  return file;
}

// A quota of "max" or -1 means that there is none.
int processors(int64_t quota, int64_t period) {
  if (quota <= 0 || period <= 0) return 0;
  return static_cast<int>(std::min<int64_t>(ceil_div(quota, period), std::numeric_limits<int>::max()));
}

int quota_of_version_2(const std::string& folder) {
  int64_t quota = 0, period = 0;
  numbers(folder + "/cpu.max") >> quota >> period;
  return processors(quota, period);
}

int quota_of_version_1(const std::string& folder) {
  int64_t quota = 0, period = 0;
  numbers(folder + "/cpu.cfs_quota_us") >> quota;
  numbers(folder + "/cpu.cfs_period_us") >> period;
  return processors(quota, period);
}

// The smallest quota of the group `path` and of the groups around it, up to the one mounted at `root`. A container
// often sees its own group at `root`, but `path` is the path on the machine: folders that are not there have no quota.
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
    const bool has_cpu = cat(',', names, ',').find(",cpu,") != std::string::npos;
    if (has_cpu) quota = smallest_quota(paths.root + "/cpu", group, quota_of_version_1);
    if (quota > 0 && (smallest == 0 || quota < smallest)) smallest = quota;
  }
  return smallest;
}

}  // namespace millrace
