// CheckpointFolder: the folder in which one training keeps its checkpoints.
//
//   CheckpointFolder folder("runs/mlp");
//   std::vector<std::string> warnings;
//   std::optional<Checkpoint> last = folder.newest(warnings);
//   folder.write(parts, 3);
//
// If any call of the system fails, or the process is killed before any call, the newest whole checkpoint is still
// there. A new checkpoint appears whole (AtomicFile), and older ones are removed only after the new one was read back
// from the disk.
//
// Used by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "millrace/core/errors.h"
#include "millrace/trainer/checkpoint/checkpoint_file.h"
#include "millrace/trainer/checkpoint/folder_lock.h"

namespace millrace {

struct ListedCheckpoint {
  uint64_t step = 0;
  std::string path;
};

// The files in `folder` that have names of checkpoints, in the order of their steps. Empty if there is no such folder.
// Throws IoError.
std::vector<ListedCheckpoint> list_checkpoints(const std::string& folder);

// Whether a checkpoint that cannot be read, with such an error, is passed over for an older one. Otherwise the failure
// does not concern this one file only: another version may have written it.
bool is_passed_over(ErrorKind kind);

class CheckpointFolder {
 public:
  // Makes the folder if it is missing, takes its lock, and removes temporary files that killed programs left. Throws
  // ConfigError if another training has the lock, and IoError. REQUIRES: `calls` outlives this object.
  explicit CheckpointFolder(std::string path, FileCalls& calls = FileCalls::system());

  const std::string& path() const { return path_; }
  FileCalls& calls() const { return calls_; }
  // Warnings about the folder, for example that its file system has no locks.
  const std::vector<std::string>& warnings() const { return warnings_; }

  std::vector<ListedCheckpoint> list() const { return list_checkpoints(path_); }

  // The usable checkpoint with the largest step; empty if the folder has no checkpoints. A checkpoint is usable if it
  // is whole, and if `check`, which may be empty, does not throw DataError for it. `warnings` gets one text for each
  // unusable checkpoint with a larger step; the text names both files. Throws DataError if there are checkpoints, but
  // none is usable; ConfigError if a whole one has a format that this version does not read.
  using Check = std::function<void(const Checkpoint&)>;
  std::optional<Checkpoint> newest(std::vector<std::string>& warnings, const Check& check = {});

  // Renames the checkpoints with a larger step than `step`, because a training that goes on from there makes others.
  // Their names get the end ".abandoned". Returns a note for each. Throws IoError.
  std::vector<std::string> set_aside_after(uint64_t step);

  struct Written {
    std::string path;
    std::vector<std::string> warnings;  // about older checkpoints that could not be removed
  };
  // Writes a checkpoint, reads it back, and removes older ones, so that the newest `keep` stay. If this throws IoError
  // or DataError, no older one was removed. REQUIRES: keep > 0.
  Written write(const CheckpointParts& parts, size_t keep);

 private:
  void remove_left_overs();
  void prune(uint64_t step, size_t keep, std::vector<std::string>& warnings);

  std::string path_;
  FileCalls& calls_;
  FolderLock lock_;
  std::vector<std::string> warnings_;
};

}  // namespace millrace
