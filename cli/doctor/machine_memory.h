// How much memory this process may use, and how much of it is taken: of the machine and of the cgroups around it. What
// the kernel keeps of files counts as free: it gives that up.
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
  uint64_t total = 0;      // bytes of the machine, or of the least limit around this process
  uint64_t available = 0;  // of these
  bool limited = false;    // by a cgroup
};

// Empty where the kernel does not tell.
std::optional<MachineMemory> machine_memory(const MemoryPaths& paths = {});

}  // namespace millrace::cli
