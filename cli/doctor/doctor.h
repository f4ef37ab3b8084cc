// The checks of `trainer doctor`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "millrace/core/context.h"

namespace millrace::cli {

enum class Health : uint8_t { ok, warning, error };

struct Finding {
  std::string check;  // "memory"
  std::string text;   // what was found
  Health health = Health::ok;
  std::string advice = {};  // what to do; empty if all is well
};

struct MemoryPaths {
  std::string meminfo = "/proc/meminfo";
  std::string membership = "/proc/self/cgroup";
  std::string cgroups = "/sys/fs/cgroup";
};

// How much memory this process may use, and how much of it is available, by the machine and by the cgroups around the
// process. The kernel's cache of files counts as available, because the kernel gives it up.
struct MachineMemory {
  uint64_t total = 0;      // bytes that the machine has, or that the lowest limit around this process allows
  uint64_t available = 0;  // bytes of `total` that are not taken
  bool limited = false;    // `total` is the limit of a cgroup
};

// Empty if the kernel does not tell.
std::optional<MachineMemory> machine_memory(const MemoryPaths& paths = {});

// The properties of a machine that are judged; a test may make them up.
struct Machine {
  std::vector<std::string> processor;  // instruction sets
  int processors = 1;                  // of the machine
  int allowed = 1;                     // processors, by the affinity of this process
  int quota = 0;                       // processors, by cgroups; 0: no limit
  int threads = 1;                     // how many a training would take
  std::optional<MachineMemory> memory;
  uint64_t open_files = 0;  // limit
  std::string temporary;    // the folder for temporary files
  bool temporary_writable = true;
  bool folder_writable = true;  // of the current folder
};
Machine this_machine();

std::vector<Finding> judge_machine(const Machine& machine);

// Version, build and the libraries that are loaded, with their files.
std::vector<Finding> installed_parts();

// Trains for a second at most on `device`, "cpu" or "cuda:N". A failure is a finding.
Finding try_training(const std::string& device);

// The CUDA devices, each after a trial; if there are none, why, and how to get one.
std::vector<Finding> judge_devices(const CudaStatus& status);

// All findings together. Only a trial that fails is an error; what is found about the machine is at most a warning.
std::vector<Finding> examine();

Health worst_of(const std::vector<Finding>& findings);
std::string doctor_text(const std::vector<Finding>& findings);
std::string doctor_event(const std::vector<Finding>& findings);

}  // namespace millrace::cli
