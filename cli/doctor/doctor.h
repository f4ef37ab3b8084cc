// What `trainer doctor` looks at, and how it judges it.
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
  std::string text;    // what was found
  std::string advice;  // what to do; empty if all is well
};

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
