// What `trainer doctor` looks at, and what it thinks of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "millrace/cli/doctor/machine_memory.h"
#include "millrace/core/context.h"

namespace millrace::cli {

enum class Health : uint8_t { ok, warning, error };

struct Finding {
  std::string check;  // "memory"
  Health health = Health::ok;
  std::string text;    // what is there
  std::string advice;  // what to do; empty where all is well
};

// What a machine is like, as far as it can be made up for a test.
struct Machine {
  std::vector<std::string> processor;  // instruction sets
  int processors = 1;                  // of the machine
  int allowed = 1;                     // by the affinity of this process
  int quota = 0;                       // by cgroups; 0: none
  int threads = 1;                     // that a training would take
  std::optional<MachineMemory> memory;
  uint64_t open_files = 0;  // limit
  std::string temporary;    // the folder for temporary files, and whether files can be written there
  bool temporary_writable = true;
  bool folder_writable = true;  // the current one
};
Machine this_machine();

std::vector<Finding> judge_machine(const Machine& machine);

// Version, build and the libraries that are loaded, with their files.
std::vector<Finding> installed_parts();

// A training of a second at most on `device`, "cpu" or "cuda:N". Its failures are findings.
Finding try_training(const std::string& device);

// The CUDA devices, each with a trial; where there are none, why, and how to get them.
std::vector<Finding> judge_devices(const CudaStatus& status);

// All of it. What the trial on the CPU shows to work is no error of the machine's.
std::vector<Finding> examine();

Health worst_of(const std::vector<Finding>& findings);
std::string doctor_text(const std::vector<Finding>& findings);
std::string doctor_event(const std::vector<Finding>& findings);

}  // namespace millrace::cli
