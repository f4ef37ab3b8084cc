// How much memory this process may use, and how much of it is available, by the machine and by the cgroups around the
// process. What the kernel caches of files counts as available, because the kernel gives it up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace millrace::cli {

struct MemoryPaths {
  std::string meminfo = "/proc/meminfo";
  std::string membership = "/proc/self/cgroup";
  std::string cgroups = "/sys/fs/cgroup";
};

struct MachineMemory {
  uint64_t total = 0;      // bytes that the machine has, or that the lowest limit around this process allows
  uint64_t available = 0;  // bytes of `total` that are not taken
  bool limited = false;    // `total` is the limit of a cgroup
};

// Empty if the kernel does not tell.
std::optional<MachineMemory> machine_memory(const MemoryPaths& paths = {});

}  // namespace millrace::cli
