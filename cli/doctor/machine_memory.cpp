#include "millrace/cli/doctor/doctor.h"

#include <algorithm>
#include <fstream>
#include <sstream>

namespace millrace::cli {

namespace {

// The number after `key` in lines of "key number" or "key: number kB".
std::optional<uint64_t> entry_of(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    uint64_t value = 0;
    if (words >> name >> value && (name == key || name == key + ':')) return value;
  }
  return std::nullopt;
}

// The number that a file holds; none if it says "max".
std::optional<uint64_t> only_number(const std::string& path) {
  uint64_t value = 0;
  return std::ifstream(path) >> value ? std::optional(value) : std::nullopt;
}

// Lowers `memory` to the limit of the group in this folder, if it has one. `second`: the group is of version 2.
void apply_limit(const std::string& group, bool second, MachineMemory& memory) {
  const auto limit = only_number(group + (second ? "/memory.max" : "/memory.limit_in_bytes"));
  const auto used = only_number(group + (second ? "/memory.current" : "/memory.usage_in_bytes"));
  if (!limit || !used || *limit >= memory.total) return;
  const std::string statistics = group + "/memory.stat";
  const uint64_t files = entry_of(statistics, second ? "file" : "total_cache").value_or(0);
  const uint64_t shared = entry_of(statistics, second ? "shmem" : "total_shmem").value_or(0);
  const uint64_t cache = files - std::min(files, shared);
  const uint64_t taken = *used - std::min(*used, cache);
  memory.total = *limit;
  memory.available = std::min(memory.available, *limit - std::min(*limit, taken));
  memory.limited = true;
}

}  // namespace

std::optional<MachineMemory> machine_memory(const MemoryPaths& paths) {
  const std::optional<uint64_t> total = entry_of(paths.meminfo, "MemTotal");
  const std::optional<uint64_t> available = entry_of(paths.meminfo, "MemAvailable");
  if (!total || !available) return {};
  MachineMemory out{.total = *total << 10, .available = *available << 10};
  std::ifstream membership(paths.membership);
  // "0::/group" for version 2, "4:memory:/group" for a hierarchy of version 1.
  for (std::string line; std::getline(membership, line);) {
    const size_t controllers = line.find(':'), path = line.find(':', controllers + 1);
    if (controllers == line.npos || path == line.npos) continue;
    const std::string names = line.substr(controllers + 1, path - controllers - 1);
    const bool second = names.empty();
    if (!second && (',' + names + ',').find(",memory,") == std::string::npos) continue;
    std::string group = line.substr(path + 1);
    if (!group.starts_with('/') || group.find("/..") != group.npos) group.clear();
    const std::string root = paths.cgroups + (second ? "" : "/memory");
    for (;;) {
      apply_limit(root + group, second, out);
      if (group.empty()) break;
      group.resize(group.rfind('/'));
    }
  }
  return out;
}

}  // namespace millrace::cli
