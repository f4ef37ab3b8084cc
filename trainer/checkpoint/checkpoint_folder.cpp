#include "millrace/trainer/checkpoint/checkpoint_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "millrace/core/errors.h"
#include "millrace/core/text.h"
#include "millrace/input/files/atomic_file.h"

namespace millrace {

namespace {

namespace fs = std::filesystem;

// Makes the folder and the folders above it, if they are missing.
void make_folders(const fs::path& folder, FileCalls& calls) {
  std::error_code ignored;
  if (folder.empty() || fs::exists(folder, ignored)) return;
  const fs::path around = folder.has_filename() ? folder.parent_path() : folder.parent_path().parent_path();
  make_folders(around, calls);
  if (calls.make_folder(folder.string()) != 0 && errno != EEXIST) {
    throw IoError(cat("cannot make the folder: ", errno_text(errno)), {folder.string(), 0, 0});
  }
  const Descriptor opened = calls.open(around.empty() ? "." : around.string(), O_RDONLY | O_DIRECTORY);
  if (opened) (void)calls.sync(opened);
}

// Makes the folder first, since the lock is a file in it.
FolderLock lock_of(const std::string& folder, FileCalls& calls) {
  make_folders(folder, calls);
  return {folder, calls};
}

// The names of the files in a folder. REQUIRES: the folder exists.
std::vector<std::string> names_in(const std::string& folder) {
  std::error_code failure;
  std::vector<std::string> out;
  for (fs::directory_iterator entry(folder, failure), end; !failure && entry != end; entry.increment(failure)) {
    out.push_back(entry->path().filename().string());
  }
  if (failure) throw IoError(cat("cannot list the folder: ", errno_text(failure.value())), {folder, 0, 0});
  return out;
}

// Whether a file of this name is a checkpoint that was not written to its end.
bool is_temporary(const std::string& name) {
  static constexpr std::string_view kEnd = ".safetensors";
  const size_t end = name.find(kEnd);
  if (end == name.npos) return false;
  const std::string checkpoint = name.substr(0, end + kEnd.size());
  return step_of_name(checkpoint) && writer_of_temporary(name, checkpoint);
}

}  // namespace

bool is_passed_over(ErrorKind kind) {
  return kind == ErrorKind::data || kind == ErrorKind::missing || kind == ErrorKind::io;
}

std::vector<ListedCheckpoint> list_checkpoints(const std::string& folder) {
  std::error_code ignored;
  std::vector<ListedCheckpoint> out;
  if (fs::status(folder, ignored).type() == fs::file_type::not_found) return out;
  for (const std::string& name : names_in(folder)) {
    if (const auto step = step_of_name(name)) out.push_back({*step, (fs::path(folder) / name).string()});
  }
  std::ranges::sort(out, {}, &ListedCheckpoint::step);
  return out;
}

CheckpointFolder::CheckpointFolder(std::string path, FileCalls& calls)
    : path_(std::move(path)), calls_(calls), lock_(lock_of(path_, calls)) {
  if (lock_.held()) {
    remove_left_overs();
  } else {
    warnings_.push_back(
        cat(path_, ": its file system knows no locks: see to it that no other training writes its checkpoints here"));
  }
}

// This object has just taken the lock, so no other training still writes these files.
void CheckpointFolder::remove_left_overs() {
  for (const std::string& name : names_in(path_)) {
    if (!is_temporary(name)) continue;
    const std::string file = (fs::path(path_) / name).string();
    if (calls_.unlink(file) != 0 && errno != ENOENT) {
      warnings_.push_back(cat(file, ": a killed program left it, and it cannot be removed: ", errno_text(errno)));
    }
  }
}

std::optional<Checkpoint> CheckpointFolder::newest(std::vector<std::string>& warnings, const Check& check) {
  std::vector<ListedCheckpoint> listed = list();
  std::vector<std::string> failures;
  std::string hint = "move them away to begin anew";
  for (; !listed.empty(); listed.pop_back()) {
    const std::string& file = listed.back().path;
    bool whole = false;
    try {
      Checkpoint found = read_checkpoint(file);
      whole = true;
      if (check) check(found);
      for (const std::string& failure : failures) warnings.push_back(cat(failure, "; going on from ", file));
      return found;
    } catch (const Error& error) {
      if (!is_passed_over(error.kind())) throw;
      failures.emplace_back(error.what());
      // check() may know how a whole checkpoint can be used after all.
      if (whole && !error.hint().empty()) hint = error.hint();
    }
  }
  if (failures.empty()) return {};
  std::string all;
  for (const std::string& failure : failures) all += cat(all.empty() ? "" : "; ", failure);
  throw DataError(cat("no checkpoint is left to go on from: ", all), {path_, 0, 0}, hint);
}

CheckpointFolder::Written CheckpointFolder::write(const CheckpointParts& parts, size_t keep) {
  lock_.check();
  Written out{.path = (fs::path(path_) / checkpoint_name(parts.step)).string(), .warnings = {}};
  write_checkpoint(out.path, parts, calls_);
  try {
    verify_checkpoint(out.path, true);
  } catch (...) {
    calls_.unlink(out.path);
    throw;
  }
  prune(parts.step, keep, out.warnings);
  return out;
}

// Keeps the checkpoint of `step`, which was just written, and the newest of the others.
void CheckpointFolder::prune(uint64_t step, size_t keep, std::vector<std::string>& warnings) {
  std::vector<ListedCheckpoint> others = list();
  std::erase_if(others, [step](const ListedCheckpoint& one) { return one.step == step; });
  for (size_t i = 0; i + keep <= others.size(); ++i) {
    if (calls_.unlink(others[i].path) != 0 && errno != ENOENT) {
      warnings.push_back(cat(others[i].path, ": cannot remove this older checkpoint: ", errno_text(errno)));
    }
  }
}

std::vector<std::string> CheckpointFolder::set_aside_after(uint64_t step) {
  std::vector<std::string> notes;
  for (const ListedCheckpoint& one : list()) {
    if (one.step <= step) continue;
    const std::string aside = one.path + ".abandoned";
    if (calls_.rename(one.path, aside) != 0) {
      throw IoError(cat("cannot rename it to ", quote(aside, 4096), ": ", errno_text(errno)), {one.path, 0, 0});
    }
    notes.push_back(cat(one.path, " is of a step after that, and is called ", aside, " from now on"));
  }
  if (!notes.empty() && calls_.sync(calls_.open(path_, O_RDONLY | O_DIRECTORY)) != 0) {
    throw IoError(cat("cannot bring the folder to the disk: ", errno_text(errno)), {path_, 0, 0});
  }
  return notes;
}

}  // namespace millrace
