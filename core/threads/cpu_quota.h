// The CPU quotas of the cgroups that this process is in.
#pragma once

#include <string>

namespace millrace {

struct CgroupPaths {
  std::string membership = "/proc/self/cgroup";
  std::string root = "/sys/fs/cgroup";
};

// How many processors the quotas allow at most, rounded up: the smallest quota of the process's own cgroup and the
// cgroups around it, version 2 or version 1. 0 without a quota or without cgroups.
int quota_threads(const CgroupPaths& paths = {});

}  // namespace millrace
