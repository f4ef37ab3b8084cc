// CheckpointFolder: the folder in which one training keeps its checkpoints.
//
//   CheckpointFolder folder("runs/mlp");
//   std::vector<std::string> warnings;
//   std::optional<Checkpoint> last = folder.newest(warnings);
//   folder.write(parts, 3);
//
// Whatever happens at whatever call of the system, the newest checkpoint that was whole before is there afterwards: a
// new one appears whole (AtomicFile), and older ones go only after it was read back from the disk.
//
// Used by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "millrace/trainer/checkpoint/checkpoint_file.h"
#include "millrace/trainer/checkpoint/folder_lock.h"

namespace millrace {

struct ListedCheckpoint {
  uint64_t step = 0;
  std::string path;
};

// The files in `folder` that are called like checkpoints, by their steps; none if there is no such folder. Throws
// IoError.
std::vector<ListedCheckpoint> list_checkpoints(const std::string& folder);

class CheckpointFolder {
 public:
  // Makes the folder if it is not there, takes its lock, and removes temporary files of programs that were killed.
  // Throws ConfigError if another training has the lock, IoError. REQUIRES: `calls` outlives the folder.
  explicit CheckpointFolder(std::string path, FileCalls& calls = FileCalls::system());

  const std::string& path() const { return path_; }
  FileCalls& calls() const { return calls_; }
  // What was odd about the folder.
  const std::vector<std::string>& warnings() const { return warnings_; }

  std::vector<ListedCheckpoint> list() const { return list_checkpoints(path_); }

  // The checkpoint of the largest step among those that are whole; empty if there is none at all. `warnings` gets one
  // that names both for each that cannot be used and has a larger step. Throws DataError if there are some, but none
  // can be used; ConfigError if one that is whole has a format that this version does not read.
  // `check`, if given, looks at one that is whole, and throws DataError if it cannot be used all the same.
  using Check = std::function<void(const Checkpoint&)>;
  std::optional<Checkpoint> newest(std::vector<std::string>& warnings, const Check& check = {});

  struct Written {
    std::string path;
    std::vector<std::string> warnings;  // of older ones that could not be removed
  };
  // Writes a checkpoint, reads it back, and removes older ones, so that the newest `keep` stay; those that cannot be
  // used do not count. If it throws IoError or DataError, nothing was removed. REQUIRES: keep > 0.
  Written write(const CheckpointParts& parts, size_t keep);

 private:
  void remove_left_overs();
  void prune(uint64_t step, size_t keep, std::vector<std::string>& warnings);

  std::string path_;
  FileCalls& calls_;
  FolderLock lock_;
  std::vector<std::string> warnings_;
  std::set<std::string> unusable_;  // paths
};

}  // namespace millrace
